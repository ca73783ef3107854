_base_ = [
    '../models/semantic_fpn.py',
    '../datasets/shapes_semantic.py',
    '../runtime_mmseg.py',
    '../schedules/mini_iters.py',
]
default_hooks = dict(checkpoint=dict(interval=_base_.max_iters))
width = 64
model = dict(
    data_preprocessor=dict(size=_base_.crop_size),
    neck=dict(out_channels=width, norm_cfg=dict(type='BN')),
    decode_head=dict(
        in_channels=[width] * 4,
        channels=width,
        dropout_ratio=0.0,
        num_classes=7,
        loss_decode=[_base_.cross_entropy, _base_.dice],
    ),
)
