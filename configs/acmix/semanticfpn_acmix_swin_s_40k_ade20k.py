_base_ = [
    '../_base_/recipes/semanticfpn_ade20k.py',
    '../_base_/backbones/acmix_swin_s.py',
]
model = dict(backbone=_base_.backbone, neck=dict(in_channels=_base_.pyramid_channels))
