_base_ = [
    '../models/mask_rcnn.py',
    '../datasets/shapes_instance.py',
    '../schedules/mini_epochs.py',
    '../runtime_mmdet.py',
]
width = 64
num_classes = 6
norm_cfg = dict(type='BN')
model = dict(
    neck=dict(out_channels=width, num_outs=4, norm_cfg=norm_cfg),
    rpn_head=dict(
        in_channels=width,
        feat_channels=width,
        anchor_generator=dict(scales=[3], ratios=[1.0], strides=[4, 8, 16, 32]),
    ),
    roi_head=dict(
        bbox_roi_extractor=dict(
            out_channels=width, finest_scale=28, roi_layer=dict(sampling_ratio=2)
        ),
        bbox_head=dict(
            type='ConvFCBBoxHead',
            num_shared_convs=2,
            num_shared_fcs=1,
            in_channels=width,
            conv_out_channels=width,
            fc_out_channels=256,
            norm_cfg=norm_cfg,
            num_classes=num_classes,
            # Telling the classes apart is what takes longest to begin.
            loss_cls=dict(loss_weight=3.0),
        ),
        mask_roi_extractor=dict(out_channels=width, roi_layer=dict(sampling_ratio=2)),
        mask_head=dict(
            num_convs=2,
            in_channels=width,
            conv_out_channels=width,
            norm_cfg=norm_cfg,
            num_classes=num_classes,
            loss_mask=dict(loss_weight=2.0),
        ),
    ),
    train_cfg=dict(
        rpn=dict(assigner=dict(pos_iou_thr=0.5), sampler=dict(num=128)),
        rpn_proposal=dict(nms_pre=500, max_per_img=200),
        rcnn=dict(sampler=dict(num=80, pos_fraction=0.3)),
    ),
    test_cfg=dict(
        rpn=dict(nms_pre=500, max_per_img=200), rcnn=dict(mask_thr_binary=0.4)
    ),
)
