backbone = dict(type='CASViT', arch='t')
pyramid_channels = [96, 128, 256, 512]
