_base_ = [
    '../models/retinanet.py',
    '../datasets/shapes_detection.py',
    '../schedules/mini_epochs.py',
    '../runtime_mmdet.py',
]
max_epochs = 5
train_cfg = dict(max_epochs=max_epochs, val_interval=max_epochs)
param_scheduler = [
    _base_.param_scheduler[0],
    dict(_base_.param_scheduler[1], end=max_epochs),
]
width = 64
model = dict(
    neck=dict(out_channels=width, num_outs=4, norm_cfg=dict(type='BN')),
    bbox_head=dict(
        num_classes=6,
        in_channels=width,
        feat_channels=width,
        stacked_convs=2,
        # The head is shared by all levels, whose statistics differ: no batch norm.
        norm_cfg=dict(type='GN', num_groups=8),
        # Telling the classes apart is what takes longest to begin.
        loss_cls=dict(loss_weight=2.0),
        anchor_generator=dict(
            octave_base_scale=3,
            scales_per_octave=2,
            ratios=[1.0],
            strides=[4, 8, 16, 32],
        ),
    ),
)
