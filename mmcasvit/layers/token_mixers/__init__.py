from .additive import AdditiveTokenMixer
from .self_attention import MultiHeadSelfAttention
from .separable import SeparableSelfAttention
from .swift import SwiftAttention

__all__ = [
    'AdditiveTokenMixer',
    'MultiHeadSelfAttention',
    'SeparableSelfAttention',
    'SwiftAttention',
]
