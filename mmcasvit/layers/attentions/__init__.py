from .patchwise import PatchwiseAttention
from .sliding_window import SlidingWindowAttention
from .spatial_reduction import SpatialReductionAttention
from .window import WindowAttention

__all__ = [
    'PatchwiseAttention',
    'SlidingWindowAttention',
    'SpatialReductionAttention',
    'WindowAttention',
]
