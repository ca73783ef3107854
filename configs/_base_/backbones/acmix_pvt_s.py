backbone = dict(type='ACmixPVT', arch='s')
pyramid_channels = [64, 128, 320, 512]
custom_hooks = [dict(type='LogScalesHook')]
