_base_ = [
    '../models/retinanet.py',
    '../datasets/coco_detection.py',
    '../schedules/adamw_1x.py',
    '../runtime_mmdet.py',
]
