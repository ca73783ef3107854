backbone = dict(
    type='ACmixSAN', depth=19, norm_cfg=dict(type='SyncBN', requires_grad=True)
)
pyramid_channels = [256, 512, 1024, 2048]
custom_hooks = [dict(type='LogScalesHook')]
