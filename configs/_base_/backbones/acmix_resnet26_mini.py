# ACmix in the late stages alone: half as many iterations again in the same time.
backbone = dict(
    type='ACmixResNet',
    depth=26,
    base_channels=24,
    stages_with_acmix=(False, False, True, True),
)
pyramid_channels = [96, 192, 384, 768]
custom_hooks = [dict(type='LogScalesHook')]
