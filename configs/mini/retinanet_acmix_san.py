_base_ = [
    '../_base_/recipes/retinanet_shapes.py',
    '../_base_/backbones/acmix_san_mini.py',
]
model = dict(backbone=_base_.backbone, neck=dict(in_channels=_base_.pyramid_channels))
