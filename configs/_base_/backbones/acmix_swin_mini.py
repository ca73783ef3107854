backbone = dict(type='ACmixSwin', arch='t', drop_path_rate=0.0)
pyramid_channels = [96, 192, 384, 768]
custom_hooks = [dict(type='LogScalesHook')]
