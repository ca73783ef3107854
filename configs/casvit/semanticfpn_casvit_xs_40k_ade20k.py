_base_ = [
    '../_base_/recipes/semanticfpn_ade20k.py',
    '../_base_/backbones/casvit_xs_in1k.py',
]
model = dict(backbone=_base_.backbone, neck=dict(in_channels=_base_.pyramid_channels))
