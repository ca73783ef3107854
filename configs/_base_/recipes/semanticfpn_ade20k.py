_base_ = [
    '../models/semantic_fpn.py',
    '../datasets/ade20k.py',
    '../runtime_mmseg.py',
    '../schedules/adamw_40k.py',
]
default_hooks = dict(checkpoint=dict(interval=4000))
# Test pictures are resized so that both sides are multiples of 32.
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=(2048, 512), keep_ratio=True),
    dict(type='ResizeToMultiple', size_divisor=32),
    dict(type='LoadAnnotations', reduce_zero_label=True),
    dict(type='PackSegInputs'),
]
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
