from .acmix_pvt import ACmixPVT
from .acmix_resnet import ACmixResNet
from .acmix_san import ACmixSAN
from .acmix_swin import ACmixSwin
from .casvit import CASViT
from .pyramid import PyramidBackbone

__all__ = [
    'ACmixPVT',
    'ACmixResNet',
    'ACmixSAN',
    'ACmixSwin',
    'CASViT',
    'PyramidBackbone',
]
