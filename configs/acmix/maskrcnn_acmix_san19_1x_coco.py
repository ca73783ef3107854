_base_ = [
    '../_base_/recipes/maskrcnn_coco.py',
    '../_base_/backbones/acmix_san19.py',
]
model = dict(backbone=_base_.backbone, neck=dict(in_channels=_base_.pyramid_channels))
