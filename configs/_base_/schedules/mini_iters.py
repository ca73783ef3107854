_base_ = './mini_epochs.py'
max_iters = 3150
train_cfg = dict(
    _delete_=True,
    type='IterBasedTrainLoop',
    max_iters=max_iters,
    val_interval=max_iters,
)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='CosineAnnealingLR', eta_min=0.0, by_epoch=False, begin=0, end=max_iters),
]
optim_wrapper = dict(optimizer=dict(lr=2e-3), clip_grad=None)
