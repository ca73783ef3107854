backbone = dict(
    type='ACmixSwin',
    arch='s',
    drop_path_rate=0.3,
    init_cfg=dict(type='Pretrained', checkpoint='checkpoints/acmix_swin_s.pth'),
)
pyramid_channels = [96, 192, 384, 768]
custom_hooks = [dict(type='LogScalesHook')]
