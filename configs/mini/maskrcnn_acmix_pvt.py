_base_ = [
    '../_base_/recipes/maskrcnn_shapes.py',
    '../_base_/backbones/acmix_pvt_mini.py',
]
model = dict(backbone=_base_.backbone, neck=dict(in_channels=_base_.pyramid_channels))
