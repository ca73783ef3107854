backbone = dict(type='CASViT', arch='xs')
pyramid_channels = [48, 56, 112, 220]
