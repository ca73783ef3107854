"""Swin's attention as ACmix's attention path."""

import torch
from torch import Tensor, nn

from ...ops import rolls, window_attention
from ...registry import ACMIX_ATTENTIONS, register
from .base import AttentionPath


@register(ACMIX_ATTENTIONS)
class WindowAttention(AttentionPath):
    """out_i = proj(Σ_{j ∈ window(i)} softmax_j(q_i · k_j / √D + B_{i−j}) v_j).

    Windows tile the map; B is learned for each offset within a window and each head.

    Args:
        dim, num_heads, qk_dim, stride, dilation: See `AttentionPath`.
        window_size: Side w of a window.
        shift: The map that q, k and v come from was rolled for windows shifted by so
            much, see `ops.rolls`.

    Shape:
        See `AttentionPath`; any H, W ≥ 1.

    Note:
        2·w²·C + C² multiply-adds a pixel.

    Source:
        Swin Transformer, arXiv 2103.14030, Sec. 3.2; ACmix, arXiv 2111.14556, Sec. 4.4.
        Swin's last projection belongs to this path, as in the release.
    """

    linear = False

    def __init__(
        self,
        dim: int,
        num_heads: int,
        qk_dim: int | None = None,
        stride: int = 1,
        dilation: int = 1,
        window_size: int = 7,
        shift: int = 0,
    ) -> None:
        super().__init__(dim, num_heads, qk_dim, stride, dilation)
        self.window_size, self.shift = window_size, shift
        offsets = (2 * window_size - 1) ** 2
        self.relative_bias = nn.Parameter(torch.zeros(offsets, num_heads))
        nn.init.trunc_normal_(self.relative_bias, std=0.02)
        index = relative_index(window_size)
        self.register_buffer('relative_index', index, persistent=False)
        self.proj = nn.Conv2d(dim, dim, 1)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        bias = self.relative_bias[self.relative_index].permute(2, 0, 1)  # (N, w², w²)
        rolled = rolls(q.shape[2:], self.window_size, self.shift)
        out = window_attention(q, k, v, self.num_heads, self.window_size, rolled, bias)
        return self.proj(out)

    def multiply_adds(self, height: int, width: int) -> int:
        return (2 * self.window_size**2 + self.dim) * self.dim * height * width


def relative_index(window_size: int) -> Tensor:
    """Row of the bias table for each query and key of a window, (w², w²)."""
    y, x = torch.meshgrid(*[torch.arange(window_size)] * 2, indexing='ij')
    y, x = y.flatten(), x.flatten()
    reach = window_size - 1
    rows, cols = (p[:, None] - p[None] + reach for p in (y, x))
    return rows * (2 * window_size - 1) + cols
