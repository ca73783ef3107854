backbone = dict(type='ACmixPVT', arch='t', drop_path_rate=0.0)
pyramid_channels = [64, 128, 320, 512]
custom_hooks = [dict(type='LogScalesHook')]
