_base_ = [
    '../models/upernet.py',
    '../datasets/shapes_semantic.py',
    '../runtime_mmseg.py',
    '../schedules/mini_iters.py',
]
default_hooks = dict(checkpoint=dict(interval=1500))
num_classes = 7
model = dict(
    data_preprocessor=dict(size=(128, 128)),
    decode_head=dict(channels=64, num_classes=num_classes),
    auxiliary_head=dict(channels=32, num_classes=num_classes),
)
