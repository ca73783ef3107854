"""Functions on tensors; they need nothing but PyTorch."""

from .attention import local_attention
from .shift import (
    compose_kernel,
    depthwise_shift,
    grouped_shift,
    grouped_shift_weight,
    shift_kernels,
    tensor_shift,
)

__all__ = [
    'compose_kernel',
    'depthwise_shift',
    'grouped_shift',
    'grouped_shift_weight',
    'local_attention',
    'shift_kernels',
    'tensor_shift',
]
