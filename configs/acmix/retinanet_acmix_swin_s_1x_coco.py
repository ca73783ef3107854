_base_ = [
    '../_base_/recipes/retinanet_coco.py',
    '../_base_/backbones/acmix_swin_s.py',
]
model = dict(
    backbone=dict(out_indices=(1, 2, 3), **_base_.backbone),
    neck=dict(in_channels=_base_.pyramid_channels[1:]),
)
