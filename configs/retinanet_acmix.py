_base_ = './acmix/retinanet_acmix_resnet50_1x_coco.py'
