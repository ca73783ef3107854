from .acmix_resnet import ACmixResNet
from .casvit import CASViT
from .pyramid import PyramidBackbone

__all__ = ['ACmixResNet', 'CASViT', 'PyramidBackbone']
