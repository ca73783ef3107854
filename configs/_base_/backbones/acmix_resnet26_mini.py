backbone = dict(type='ACmixResNet', depth=26, base_channels=24)
pyramid_channels = [96, 192, 384, 768]
custom_hooks = [dict(type='LogScalesHook')]
