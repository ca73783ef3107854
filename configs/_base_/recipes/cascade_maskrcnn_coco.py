_base_ = [
    '../models/cascade_mask_rcnn.py',
    '../datasets/coco_instance.py',
    '../schedules/adamw_1x.py',
    '../runtime_mmdet.py',
]
