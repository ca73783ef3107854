"""ACmix's paths alone and together, their weights fixed and learned."""

_base_ = '../mini/semanticfpn_acmix.py'
max_iters = 1000
train_cfg = dict(max_iters=max_iters)
param_scheduler = [
    _base_.param_scheduler[0],
    dict(_base_.param_scheduler[1], end=max_iters),
]
default_hooks = dict(checkpoint=dict(interval=200))
model = dict(backbone=dict(stages_with_acmix=(True, True, True, True)))
ablation = {
    'convolution path only': {
        'model.backbone.acmix': dict(alpha=0.0, beta=1.0, learn_scales=False)
    },
    'attention path only': {
        'model.backbone.acmix': dict(alpha=1.0, beta=0.0, learn_scales=False)
    },
    'both, α = β = 1': {
        'model.backbone.acmix': dict(alpha=1.0, beta=1.0, learn_scales=False)
    },
    'both, α = β = 0.5': {'model.backbone.acmix': dict(learn_scales=False)},
    'both, α and β learned': {},
}
