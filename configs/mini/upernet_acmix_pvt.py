_base_ = [
    '../_base_/recipes/upernet_shapes.py',
    '../_base_/backbones/acmix_pvt_mini.py',
]
model = dict(
    backbone=_base_.backbone,
    decode_head=dict(in_channels=_base_.pyramid_channels),
    auxiliary_head=dict(in_channels=_base_.pyramid_channels[2]),
)
