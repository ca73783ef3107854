"""How ACmix's convolution path learns its shifts."""

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
    'shifts for good': {'model.backbone.acmix': dict(shift='fixed')},
    'one learned kernel': {'model.backbone.acmix': dict(shift='shared')},
    'one learned kernel per head': {},
    'per head, random start': {'model.backbone.acmix': dict(shift='random')},
}
