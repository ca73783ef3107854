"""Stochastic depth."""

import torch
from torch import Tensor, nn


class DropPath(nn.Module):
    """Zero a sample's residual branch with probability `rate`, while training.

    Kept branches are scaled by 1 / (1 − rate), so the expectation is unchanged.

    Args:
        rate: Probability in [0, 1).

    Raises:
        ValueError: If `rate` is outside [0, 1).

    Source:
        Deep Networks with Stochastic Depth, arXiv 1603.09382.
    """

    def __init__(self, rate: float = 0.0) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f'drop path rate must be in [0, 1), got {rate}')
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        keep = torch.rand(x.shape[0], *[1] * (x.ndim - 1), device=x.device) >= self.rate
        return x * (keep / (1 - self.rate)).to(x.dtype)

    def extra_repr(self) -> str:
        return f'rate={self.rate:g}'
