_base_ = [
    '../_base_/recipes/maskrcnn_shapes.py',
    '../_base_/backbones/casvit_xs.py',
]
model = dict(backbone=_base_.backbone, neck=dict(in_channels=_base_.pyramid_channels))
