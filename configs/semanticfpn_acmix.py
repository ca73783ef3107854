_base_ = './acmix/semanticfpn_acmix_resnet50_40k_ade20k.py'
