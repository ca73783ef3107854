backbone = dict(type='CASViT', arch='s')
pyramid_channels = [48, 64, 128, 256]
