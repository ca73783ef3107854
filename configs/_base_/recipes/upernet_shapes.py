_base_ = [
    '../models/upernet.py',
    '../datasets/shapes_semantic.py',
    '../runtime_mmseg.py',
    '../schedules/mini_iters.py',
]
default_hooks = dict(checkpoint=dict(interval=_base_.max_iters))
num_classes = 7
model = dict(
    data_preprocessor=dict(size=_base_.crop_size),
    decode_head=dict(channels=64, dropout_ratio=0.0, num_classes=num_classes),
    auxiliary_head=dict(channels=32, num_classes=num_classes),
)
