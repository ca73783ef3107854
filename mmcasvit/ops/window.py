"""Attention within windows that tile a map, and may be shifted."""

import math
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
    shift: int = 0,
    bias: Tensor | None = None,
) -> Tensor:
    """Multi-head attention among the pixels of each window.

    out_i = Σ_{j ∈ window(i)} softmax_j(q_i · k_j / √D + b_ij) v_j. Windows tile the
    map from its upper left corner, or from `shift` pixels further on with a part of a
    window before. Those that overhang hold fewer pixels: nothing beyond the map is seen.

    Args:
        q, k, v: Queries, keys, values; channel n·D + d is dimension d of head n.
        num_heads: Heads N; each has D = C/N channels.
        window_size: Side w of a window.
        shift: Offset of the tiling along both sides, 0 ≤ shift < w. A side of w pixels
            or fewer has one window and no shift.
        bias: (N, w², w²), by the places of query and key in their window.

    Shape:
        q, k, v, output (B, C, H, W), any H, W ≥ 1; the output is channels last.

    Raises:
        ValueError: If shapes differ, heads do not divide C, or shift is out of range.
        TypeError: If dtypes or devices differ.

    Note:
        2·w²·C multiply-adds a pixel.

    Source:
        Swin Transformer, arXiv 2103.14030, Sec. 3.2. Swin rolls the map instead, and
        where a side is no multiple of w lets the padding be seen.
    """
    check_maps(q=q, k=k, v=v)
    check_divides(num_heads, q.shape[1])
    check_positive(window_size=window_size)
    if not 0 <= shift < window_size:
        raise ValueError(f'shift must be in 0…{window_size - 1}, got {shift}')
    windows = Windows(tuple(q.shape[2:]), window_size, shift)
    with own_precision(q):
        parts = (windows.cut(x, num_heads) for x in (q, k, v))  # (B·windows, N, w², D)
        mask = windows.mask(q, bias)
        out = F.scaled_dot_product_attention(*parts, attn_mask=mask)
    return windows.join(out)


@dataclass(frozen=True)
class Windows:
    """How an H×W map is cut into windows.

    Args:
        size: H, W.
        side: Pixels w along a window's side.
        shift: Where the first whole window starts.
    """

    size: tuple[int, int]
    side: int
    shift: int

    @property
    def before(self) -> tuple[int, ...]:
        """Pixels of the first windows that lie before the map."""
        return tuple(-self.shift % self.side if n > self.side else 0 for n in self.size)

    @property
    def counts(self) -> tuple[int, ...]:
        """Windows along height and width."""
        sides = zip(self.size, self.before, strict=True)
        return tuple(-(-(before + n) // self.side) for n, before in sides)

    @property
    def after(self) -> tuple[int, ...]:
        """Pixels of the last windows that lie behind the map."""
        sides = zip(self.size, self.before, self.counts, strict=True)
        return tuple(count * self.side - before - n for n, before, count in sides)

    def cut(self, x: Tensor, num_heads: int) -> Tensor:
        """(B, C, H, W) → (B·windows, N, w², D); beyond the map are zeros."""
        (top, left), (bottom, right) = self.before, self.after
        x = F.pad(x.permute(0, 2, 3, 1), (0, 0, left, right, top, bottom))
        x = x.unflatten(3, (num_heads, -1)).unflatten(2, (-1, self.side))
        x = x.unflatten(1, (-1, self.side))  # (B, ny, w, nx, w, N, D)
        return x.permute(0, 1, 3, 5, 2, 4, 6).flatten(4, 5).flatten(0, 2)

    def join(self, x: Tensor) -> Tensor:
        """The inverse of `cut`; the map is channels last in memory."""
        x = x.unflatten(0, (-1, *self.counts)).unflatten(4, (self.side, self.side))
        x = x.permute(0, 1, 4, 2, 5, 3, 6).flatten(5).flatten(3, 4).flatten(1, 2)
        (top, left), (height, width) = self.before, self.size
        x = x[:, top : top + height, left : left + width]
        return x.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)

    def mask(self, like: Tensor, bias: Tensor | None) -> Tensor | None:
        """What is added to the scores: the bias, and −∞ for keys beyond the map.

        Returns:
            None, (1, N, w², w²), or with such keys (B·windows, N or 1, w² or 1, w²).
        """
        bias = None if bias is None else bias[None].to(like.dtype)
        if not any(self.before + self.after):
            return bias
        inside = F.pad(
            like.new_zeros(self.size),
            (self.before[1], self.after[1], self.before[0], self.after[0]),
            value=-math.inf,
        )
        ny, nx = self.counts
        keys = inside.view(ny, self.side, nx, self.side).transpose(1, 2)
        keys = keys.reshape(ny * nx, 1, 1, -1)
        mask = keys if bias is None else keys + bias
        return mask.repeat(len(like), 1, 1, 1)
