_base_ = [
    '../_base_/recipes/maskrcnn_coco.py',
    '../_base_/backbones/casvit_s_in1k.py',
]
model = dict(backbone=_base_.backbone, neck=dict(in_channels=_base_.pyramid_channels))
