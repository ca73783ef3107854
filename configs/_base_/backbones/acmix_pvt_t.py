backbone = dict(type='ACmixPVT', arch='t')
pyramid_channels = [64, 128, 320, 512]
custom_hooks = [dict(type='LogScalesHook')]
