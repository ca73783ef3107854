from .acmix import ACmix
from .drop_path import DropPath
from .integration import INTEGRATIONS
from .mlp import ConvMlp
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
    'MultiHeadSelfAttention',
    'SeparableSelfAttention',
    'SwiftAttention',
]
