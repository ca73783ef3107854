backbone = dict(type='CASViT', arch='m')
pyramid_channels = [64, 96, 192, 384]
