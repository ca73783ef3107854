"""Functions on tensors; they need nothing but PyTorch."""

from .attention import local_attention
from .dense import global_attention
from .patchwise import footprint_linear, footprint_moments, footprint_sum
from .shift import (
    compose_kernel,
    depthwise_shift,
    grouped_shift,
    grouped_shift_weight,
    shift_kernels,
    tensor_shift,
)
from .window import rolls, window_attention

__all__ = [
    'compose_kernel',
    'depthwise_shift',
    'footprint_linear',
    'footprint_moments',
    'footprint_sum',
    'global_attention',
    'grouped_shift',
    'grouped_shift_weight',
    'local_attention',
    'rolls',
    'shift_kernels',
    'tensor_shift',
    'window_attention',
]
