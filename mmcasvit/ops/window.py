"""Attention within windows that tile a map."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from .checks import check_divides, check_maps, check_positive, own_precision


def window_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    window_size: int,
    rolled: tuple[int, int] = (0, 0),
    bias: Tensor | None = None,
) -> Tensor:
    """Multi-head attention among the pixels of each window.

    out_i = Σ_{j ∈ window(i)} softmax_j(q_i · k_j / √D + b_ij) v_j. Windows tile the
    map from its upper left corner. Those that overhang hold fewer pixels: nothing
    beyond the map is seen. Windows are shifted by rolling the map before: pixels that
    only the rolling made neighbours do not see each other.

    Args:
        q, k, v: Queries, keys, values; channel n·D + d is dimension d of head n.
        num_heads: Heads N; each has D = C/N channels.
        window_size: Side w of a window.
        rolled: How far the map was rolled up and left, see `rolls`.
        bias: (N, w², w²), by the places of query and key in their window.

    Shape:
        q, k, v, output (B, C, H, W), any H, W ≥ 1; the output is channels last.

    Raises:
        ValueError: If shapes differ or heads do not divide C.
        TypeError: If dtypes or devices differ.

    Note:
        2·w²·C multiply-adds a pixel.

    Source:
        Swin Transformer, arXiv 2103.14030, Sec. 3.2. Where a side is no multiple of w
        Swin lets the padding be seen.
    """
    check_maps(q=q, k=k, v=v)
    check_divides(num_heads, q.shape[1])
    check_positive(window_size=window_size)
    windows = Windows(tuple(q.shape[2:]), window_size, tuple(rolled))
    with own_precision(q):
        parts = (windows.cut(x, num_heads) for x in (q, k, v))  # (B·windows, N, w², D)
        mask = windows.mask(q, bias)
        out = F.scaled_dot_product_attention(*parts, attn_mask=mask)
    return windows.join(out)


def rolls(size: Sequence[int], window_size: int, shift: int) -> tuple[int, ...]:
    """How far to roll an H×W map up and left for windows that are shifted by `shift`.

    A side of one window or less is not rolled.
    """
    return tuple(shift if side > window_size else 0 for side in size)


@dataclass(frozen=True)
class Windows:
    """How an H×W map is cut into windows.

    Args:
        size: H, W.
        side: Pixels w along a window's side.
        rolled: How far the map was rolled up and left.
    """

    size: tuple[int, int]
    side: int
    rolled: tuple[int, int]

    @property
    def beyond(self) -> tuple[int, ...]:
        """Pixels of the last windows that lie beyond the map."""
        return tuple(-n % self.side for n in self.size)

    @property
    def counts(self) -> tuple[int, ...]:
        """Windows along height and width."""
        return tuple(-(-n // self.side) for n in self.size)

    def cut(self, x: Tensor, num_heads: int) -> Tensor:
        """(B, C, H, W) → (B·windows, N, w², D); beyond the map are zeros."""
        below, right = self.beyond
        x = F.pad(x.permute(0, 2, 3, 1), (0, 0, 0, right, 0, below))
        x = x.unflatten(3, (num_heads, -1)).unflatten(2, (-1, self.side))
        x = x.unflatten(1, (-1, self.side))  # (B, ny, w, nx, w, N, D)
        return x.permute(0, 1, 3, 5, 2, 4, 6).flatten(4, 5).flatten(0, 2)

    def join(self, x: Tensor) -> Tensor:
        """The inverse of `cut`; the map is channels last in memory."""
        x = x.unflatten(0, (-1, *self.counts)).unflatten(4, (self.side, self.side))
        x = x.permute(0, 1, 4, 2, 5, 3, 6).flatten(5).flatten(3, 4).flatten(1, 2)
        x = x[:, : self.size[0], : self.size[1]]
        return x.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)

    def mask(self, like: Tensor, bias: Tensor | None) -> Tensor | None:
        """What is added to the scores: the bias, and −∞ between separate pixels.

        Returns:
            None, (1, N, w², w²), or with such pixels (B·windows, N or 1, w², w²).
        """
        bias = None if bias is None else bias[None].to(like.dtype)
        if not any(self.beyond + self.rolled):
            return bias
        rows, cols = (self._parts(axis, like.device) for axis in (0, 1))
        part = 3 * rows[:, None, :, None] + cols[:, None, :]  # (ny, nx, w, w)
        part = part.flatten(2).flatten(0, 1)
        apart = part[:, :, None] != part[:, None]  # (windows, w², w²)
        mask = like.new_zeros(apart.shape).masked_fill_(apart, -math.inf)[:, None]
        mask = mask if bias is None else mask + bias
        return mask.repeat(len(like), 1, 1, 1)

    def _parts(self, axis: int, device: torch.device) -> Tensor:
        """For each pixel along an axis: 0 before the seam, 1 behind it, 2 beyond."""
        side, count = self.size[axis], self.counts[axis]
        place = torch.arange(count * self.side, device=device)
        seam = side - self.rolled[axis]
        return ((place >= seam).long() + (place >= side)).unflatten(0, (count, -1))
