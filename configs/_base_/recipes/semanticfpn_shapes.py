_base_ = [
    '../models/semantic_fpn.py',
    '../datasets/shapes_semantic.py',
    '../runtime_mmseg.py',
    '../schedules/mini_iters.py',
]
default_hooks = dict(checkpoint=dict(interval=1500))
width = 64
model = dict(
    data_preprocessor=dict(size=(128, 128)),
    neck=dict(out_channels=width, norm_cfg=dict(type='BN')),
    decode_head=dict(in_channels=[width] * 4, channels=width, num_classes=7),
)
