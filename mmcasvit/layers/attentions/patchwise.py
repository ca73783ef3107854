"""SAN's patchwise attention as ACmix's attention path."""

import torch
from torch import Tensor, nn

from ...ops import footprint_linear, footprint_moments, footprint_sum
from ...ops.checks import check_divides, check_odd
from ...registry import ACMIX_ATTENTIONS, register
from .base import AttentionPath


@register(ACMIX_ATTENTIONS)
class PatchwiseAttention(AttentionPath):
    """out_i = Σ_{j ∈ W(i)} γ(δ_i)_j ⊙ v_j with δ_i = [q_i, all k_j of the window].

    γ is norm → ReLU → 1×1 → norm → ReLU → 1×1. It gives each neighbour C/share weights,
    which are no softmax and may be negative.

    Args:
        dim, num_heads, stride, dilation: See `AttentionPath`; heads are of no use here.
        qk_dim: Channels R of q and k.
        kernel_size: Side of the window, odd.
        share: Channels of v that have one weight.

    Shape:
        See `AttentionPath`; any H, W ≥ 1.

    Raises:
        ValueError: If `kernel_size` is even or `share` does not divide the channels.

    Note:
        (k²+1)·R·C/share + k²·(C/share)² + k²·C multiply-adds a pixel.

    Source:
        SAN, arXiv 2004.13621, Sec. 3.2; ACmix, arXiv 2111.14556, Sec. 4.4.
    """

    narrow = True

    def __init__(
        self,
        dim: int,
        num_heads: int,
        qk_dim: int | None = None,
        stride: int = 1,
        dilation: int = 1,
        kernel_size: int = 7,
        share: int = 8,
    ) -> None:
        super().__init__(dim, num_heads, qk_dim, stride, dilation)
        check_odd('kernel_size of the attention', kernel_size)
        check_divides(share, dim, 'share')
        self.kernel_size, hidden, taps = kernel_size, dim // share, kernel_size**2
        self.norm1 = FootprintNorm(self.qk_dim, kernel_size)
        self.linear1 = nn.Linear((1 + taps) * self.qk_dim, hidden, bias=False)
        self.norm2 = nn.BatchNorm2d(hidden)
        self.act = nn.ReLU(inplace=True)
        self.linear2 = nn.Linear(hidden, taps * hidden)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scale, offset = self.norm1(q, k)  # (1 + k², R)
        weight = self.linear1.weight.t().unflatten(0, (len(scale), -1))
        own = footprint_linear(q, scale[:1], offset[:1], weight[:1])
        near = footprint_linear(k, scale[1:], offset[1:], weight[1:])
        hidden = self.act(self.norm2(own + near))
        taps = self.kernel_size**2
        weight = self.linear2.weight.unflatten(0, (taps, -1)).transpose(1, 2)
        return footprint_sum(hidden, weight, self.linear2.bias.view(taps, -1), v)

    def multiply_adds(self, height: int, width: int) -> int:
        taps, hidden = self.kernel_size**2, self.linear1.out_features
        scores = self.linear1.in_features * hidden + taps * hidden**2
        return (scores + taps * self.dim) * height * width


class FootprintNorm(nn.BatchNorm1d):
    """Batch norm over [q_i, all k_j of the window], as factors and offsets.

    Each neighbour has statistics, weights and biases of its own. The normalised
    features never exist: y = scale ⊙ x + offset.

    Args:
        dim: Channels R of q and k.
        kernel_size: Side of the window.

    Shape:
        q, k (B, R, H, W); scale and offset (1 + k², R), q's first.
    """

    def __init__(self, dim: int, kernel_size: int) -> None:
        super().__init__((1 + kernel_size**2) * dim)
        self.kernel_size = kernel_size

    def forward(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        if self.training:
            mean, var = self._moments(q, k)
            self._follow(mean, var, q.numel() // q.shape[1])
        else:
            mean, var = self.running_mean, self.running_var
        scale = self.weight * (var + self.eps).rsqrt()
        offset = self.bias - mean * scale
        rows = 1 + self.kernel_size**2
        return scale.view(rows, -1).to(q), offset.view(rows, -1).to(q)

    def _moments(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        q, k = (x.to(self.weight.dtype) for x in (q, k))
        own, near = footprint_moments(q, 1), footprint_moments(k, self.kernel_size)
        return tuple(
            torch.cat(parts).flatten() for parts in zip(own, near, strict=True)
        )

    @torch.no_grad()
    def _follow(self, mean: Tensor, var: Tensor, count: int) -> None:
        """Move the running statistics, as batch norm does."""
        if self.num_batches_tracked is not None:  # it is while activations are redone
            self.num_batches_tracked += 1
        unbiased = var * count / max(count - 1, 1)
        self.running_mean.lerp_(mean.to(self.running_mean), self.momentum)
        self.running_var.lerp_(unbiased.to(self.running_var), self.momentum)
