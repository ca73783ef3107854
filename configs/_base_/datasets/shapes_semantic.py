data_root = 'data/shapes/'
metainfo = dict(
    classes=('background', 'ball', 'box', 'triangle', 'star', 'ring', 'cross'),
    palette=[
        (128, 128, 128),
        (230, 60, 60),
        (60, 160, 230),
        (90, 200, 90),
        (240, 190, 40),
        (170, 90, 220),
        (30, 200, 190),
    ],
)
# On a CPU, how many objects are seen counts for more than how sharp they are: small
# pictures, and while training crops of them that are not all background.
scale = (128, 128)
crop_size = (64, 64)
batch_size = 32
# Four fifths of the pixels are background, and soon known. The mean over the pixels of
# a batch is written as a sum: MMSegmentation 1.2 has no mean of weighted classes where
# pixels are ignored.
cross_entropy = dict(
    type='CrossEntropyLoss',
    class_weight=[0.3, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    reduction='sum',
    loss_weight=1 / (batch_size * crop_size[0] * crop_size[1]),
)
# How much the other classes overlap with the truth, as mIoU asks.
dice = dict(type='DiceLoss', use_sigmoid=False, ignore_index=0, loss_weight=0.5)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', reduce_zero_label=True, imdecode_backend='cv2'),
    dict(type='RandomResize', scale=scale, ratio_range=(0.5, 1.0), keep_ratio=True),
    dict(type='RandomCrop', crop_size=crop_size, cat_max_ratio=0.75),
    dict(
        type='RandomFlip',
        prob=[0.25, 0.25, 0.25],
        direction=['horizontal', 'vertical', 'diagonal'],
    ),
    dict(type='PackSegInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=scale, keep_ratio=True),
    dict(type='LoadAnnotations', reduce_zero_label=True),
    dict(type='PackSegInputs'),
]
# The pictures are small: a worker would take more time from the model than it saves.
train_dataloader = dict(
    batch_size=batch_size,
    num_workers=0,
    persistent_workers=False,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(
        type='BaseSegDataset',
        data_root=data_root,
        data_prefix=dict(
            img_path='images/training', seg_map_path='annotations/training'
        ),
        metainfo=metainfo,
        reduce_zero_label=True,
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=1,
    num_workers=0,
    persistent_workers=False,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type='BaseSegDataset',
        data_root=data_root,
        data_prefix=dict(
            img_path='images/validation', seg_map_path='annotations/validation'
        ),
        metainfo=metainfo,
        reduce_zero_label=True,
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
val_evaluator = dict(type='IoUMetric', iou_metrics=['mIoU'])
test_evaluator = val_evaluator
