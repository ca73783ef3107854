from .acmix import ACmix
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
from .token_mixers import (
    AdditiveTokenMixer,
    MultiHeadSelfAttention,
    SeparableSelfAttention,
    SwiftAttention,
)

__all__ = [
    'INTEGRATIONS',
    'ACmix',
    'AdditiveTokenMixer',
    'ConvMlp',
    'DropPath',
    'LayerNorm2d',
    'MultiHeadSelfAttention',
    'PatchwiseAttention',
    'SeparableSelfAttention',
    'SlidingWindowAttention',
    'SpatialReductionAttention',
    'SwiftAttention',
    'WindowAttention',
]
