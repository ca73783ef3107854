_base_ = './acmix/maskrcnn_acmix_resnet50_1x_coco.py'
