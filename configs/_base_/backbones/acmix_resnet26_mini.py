backbone = dict(type='ACmixResNet', depth=26, base_channels=32)
pyramid_channels = [128, 256, 512, 1024]
custom_hooks = [dict(type='LogScalesHook')]
