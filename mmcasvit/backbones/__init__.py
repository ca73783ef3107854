from .casvit import CASViT
from .pyramid import PyramidBackbone

__all__ = ['CASViT', 'PyramidBackbone']
