_base_ = './acmix/upernet_acmix_resnet50_160k_ade20k.py'
