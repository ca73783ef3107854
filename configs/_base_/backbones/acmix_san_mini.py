backbone = dict(type='ACmixSAN', depth=10, dims=(32, 64, 96, 192, 384))
pyramid_channels = [64, 96, 192, 384]
custom_hooks = [dict(type='LogScalesHook')]
