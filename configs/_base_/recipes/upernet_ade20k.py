_base_ = [
    '../models/upernet.py',
    '../datasets/ade20k.py',
    '../runtime_mmseg.py',
    '../schedules/adamw_160k.py',
]
train_dataloader = dict(batch_size=2)
default_hooks = dict(checkpoint=dict(interval=16000))
