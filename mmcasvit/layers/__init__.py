from .acmix import ACmix
from .acmix_block import ACmixBlock
from .attentions import (
    PatchwiseAttention,
    SlidingWindowAttention,
    SpatialReductionAttention,
    WindowAttention,
)
from .drop_path import DropPath
from .integration import INTEGRATIONS
from .mlp import ConvMlp
from .norm import LayerNorm2d
from .padding import pad_to_multiple
from .patch_embed import PatchEmbed
from .token_mixers import (
    AdditiveTokenMixer,
    MultiHeadSelfAttention,
    SeparableSelfAttention,
    SwiftAttention,
)

__all__ = [
    'INTEGRATIONS',
    'ACmix',
    'ACmixBlock',
    'AdditiveTokenMixer',
    'ConvMlp',
    'DropPath',
    'LayerNorm2d',
    'MultiHeadSelfAttention',
    'PatchEmbed',
    'PatchwiseAttention',
    'SeparableSelfAttention',
    'SlidingWindowAttention',
    'SpatialReductionAttention',
    'SwiftAttention',
    'WindowAttention',
    'pad_to_multiple',
]
