_base_ = [
    '../_base_/recipes/maskrcnn_shapes.py',
    '../_base_/backbones/acmix_resnet26_mini.py',
]
max_epochs = 5
train_cfg = dict(max_epochs=max_epochs, val_interval=max_epochs)
param_scheduler = [
    _base_.param_scheduler[0],
    dict(_base_.param_scheduler[1], end=max_epochs),
]
model = dict(backbone=_base_.backbone, neck=dict(in_channels=_base_.pyramid_channels))
