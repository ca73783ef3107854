backbone = dict(
    type='ACmixSwin',
    arch='t',
    drop_path_rate=0.2,
    init_cfg=dict(type='Pretrained', checkpoint='checkpoints/acmix_swin_t.pth'),
)
pyramid_channels = [96, 192, 384, 768]
custom_hooks = [dict(type='LogScalesHook')]
