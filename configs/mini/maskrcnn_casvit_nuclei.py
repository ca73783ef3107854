_base_ = [
    '../_base_/recipes/maskrcnn_shapes.py',
    '../_base_/backbones/casvit_xs.py',
]
data_root = 'data/nuclei/'
metainfo = dict(classes=('nucleus',), palette=[(90, 200, 90)])
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='RandomCrop', crop_size=(256, 256), allow_negative_crop=True),
    dict(type='FilterAnnotations', min_gt_bbox_wh=(2, 2), keep_empty=False),
    dict(
        type='RandomFlip',
        prob=[0.25, 0.25, 0.25],
        direction=['horizontal', 'vertical', 'diagonal'],
    ),
    dict(type='PackDetInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale_factor=1.0, keep_ratio=True),
    *_base_.test_pipeline[2:],
]
dataset = dict(data_root=data_root, metainfo=metainfo)
train_dataloader = dict(
    dataset=dict(
        ann_file='annotations/instances_train.json',
        data_prefix=dict(img='train/'),
        pipeline=train_pipeline,
        **dataset,
    )
)
val_dataloader = dict(
    dataset=dict(
        ann_file='annotations/instances_val.json',
        data_prefix=dict(img='val/'),
        pipeline=test_pipeline,
        **dataset,
    )
)
test_dataloader = val_dataloader
val_evaluator = dict(ann_file=data_root + 'annotations/instances_val.json')
test_evaluator = val_evaluator
# Three hundred pictures: many rounds.
max_epochs = 20
train_cfg = dict(max_epochs=max_epochs, val_interval=max_epochs)
param_scheduler = [
    _base_.param_scheduler[0],
    dict(_base_.param_scheduler[1], end=max_epochs),
]
model = dict(
    backbone=_base_.backbone,
    neck=dict(in_channels=_base_.pyramid_channels),
    roi_head=dict(bbox_head=dict(num_classes=1), mask_head=dict(num_classes=1)),
)
