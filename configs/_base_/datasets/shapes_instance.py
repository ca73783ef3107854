_base_ = './shapes_detection.py'
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    *_base_.train_pipeline[2:],
]
test_pipeline = [
    *_base_.test_pipeline[:2],
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    *_base_.test_pipeline[3:],
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(metric=['bbox', 'segm'])
test_evaluator = val_evaluator
