_base_ = './mask_rcnn.py'
# Each stage wants closer boxes than the one before, and corrects smaller errors.
stds = ([0.1, 0.1, 0.2, 0.2], [0.05, 0.05, 0.1, 0.1], [0.033, 0.033, 0.067, 0.067])
ious = (0.5, 0.6, 0.7)
head = _base_.model.roi_head.bbox_head
rcnn = _base_.model.train_cfg.rcnn
model = dict(
    type='CascadeRCNN',
    roi_head=dict(
        type='CascadeRoIHead',
        num_stages=3,
        stage_loss_weights=[1, 0.5, 0.25],
        bbox_head=[
            dict(
                head,
                bbox_coder=dict(head['bbox_coder'], target_stds=std),
                reg_class_agnostic=True,
                loss_bbox=dict(type='SmoothL1Loss', beta=1.0, loss_weight=1.0),
            )
            for std in stds
        ],
    ),
    train_cfg=dict(
        rcnn=[
            dict(
                rcnn,
                assigner=dict(
                    rcnn['assigner'],
                    pos_iou_thr=iou,
                    neg_iou_thr=iou,
                    min_pos_iou=iou,
                    match_low_quality=False,
                ),
            )
            for iou in ious
        ]
    ),
)
