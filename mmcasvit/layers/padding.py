"""Padding of maps."""

from torch import Tensor
from torch.nn import functional as F


def pad_to_multiple(x: Tensor, multiple: int) -> Tensor:
    """Add zeros below and to the right until both sides are multiples."""
    below, right = (-side % multiple for side in x.shape[2:])
    return F.pad(x, (0, right, 0, below)) if below or right else x
