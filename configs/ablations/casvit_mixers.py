"""Token mixers in CAS-ViT's place, and the paper's text against its release."""

_base_ = '../mini/semanticfpn_casvit.py'
max_iters = 1000
train_cfg = dict(max_iters=max_iters)
param_scheduler = [
    _base_.param_scheduler[0],
    dict(_base_.param_scheduler[1], end=max_iters),
]
default_hooks = dict(checkpoint=dict(interval=200))
ablation = {
    'additive (CAS-ViT)': {},
    "additive, the paper's integration": {'model.backbone.integration': 'paper'},
    'self-attention': {
        'model.backbone.token_mixer': dict(type='MultiHeadSelfAttention')
    },
    'separable (MobileViTv2)': {
        'model.backbone.token_mixer': dict(type='SeparableSelfAttention')
    },
    'efficient additive (SwiftFormer)': {
        'model.backbone.token_mixer': dict(type='SwiftAttention')
    },
}
