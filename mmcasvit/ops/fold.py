"""Tiles of queries and the windows of keys they look at, as views of maps, and back.

Maps are split into heads and channels last here: (B, N, H, W, D). Nothing is unfolded
as a whole; windows are overlapping views until a chunk of them is copied.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Tiles:
    """How an H×W map is cut into tiles of queries, and which keys each tile needs.

    Args:
        size: H, W.
        kernel_size: Side k of the window around a query.
        stride: Every s-th pixel is a query.
        dilation: Step between the keys of a query.
        side: Queries along a tile's side; fewer where the map is smaller.
    """

    size: tuple[int, int]
    kernel_size: int
    stride: int
    dilation: int
    side: int

    @property
    def radius(self) -> int:
        """How far a query's window reaches from its centre, and the padding."""
        return self.dilation * (self.kernel_size // 2)

    @property
    def out_size(self) -> tuple[int, ...]:
        """Queries along height and width."""
        return tuple(-(-side // self.stride) for side in self.size)

    @property
    def tile(self) -> tuple[int, ...]:
        """Queries of a tile along height and width."""
        return tuple(min(self.side, side) for side in self.out_size)

    @property
    def counts(self) -> tuple[int, ...]:
        """Tiles along height and width; the last may overhang the map."""
        return tuple(-(-n // t) for n, t in zip(self.out_size, self.tile, strict=True))

    @property
    def covered(self) -> tuple[int, ...]:
        """Queries along height and width with those that overhang."""
        return tuple(n * t for n, t in zip(self.counts, self.tile, strict=True))

    @property
    def steps(self) -> tuple[int, ...]:
        """Pixels from one tile's window to the next one's."""
        return tuple(self.stride * t for t in self.tile)

    @property
    def window(self) -> tuple[int, ...]:
        """Pixels of a tile's window: the union of its queries' windows."""
        return tuple(self.stride * (t - 1) + 2 * self.radius + 1 for t in self.tile)

    @property
    def padded(self) -> tuple[int, ...]:
        """Size of the padded keys: all windows, the overhanging ones included."""
        sides = zip(self.size, self.counts, self.steps, self.window, strict=True)
        return tuple(
            max(side + 2 * self.radius, (n - 1) * step + window)
            for side, n, step, window in sides
        )

    def mirrored(self, axis: int) -> tuple[list[int], list[int]]:
        """Positions of the padding along an axis, and the positions they show."""
        side, r = self.size[axis], self.radius
        padding = [p for p in range(self.padded[axis]) if not r <= p < r + side]
        return padding, [r + mirror(p - r, side) for p in padding]

    def sees(self, axis: int, device: torch.device) -> Tensor:
        """(queries of a tile, keys of its window) along an axis: who sees whom."""
        first = self.stride * torch.arange(self.tile[axis], device=device)[:, None]
        offset = torch.arange(self.window[axis], device=device) - first
        inside = (offset >= 0) & (offset <= 2 * self.radius)
        return inside & (offset % self.dilation == 0)

    def chunks(self, elements: int, maps: int, dim: int) -> Iterator[slice]:
        """Rows of tiles to work through at a time, at least one.

        Args:
            elements: What a chunk's weights, keys and values may come to.
            maps: Maps side by side: batch times heads.
            dim: Channels D of a head.
        """
        tile, window = math.prod(self.tile), math.prod(self.window)
        per_row = maps * self.counts[1] * window * (tile + 2 * dim)
        rows = max(1, elements // per_row)
        for first in range(0, self.counts[0], rows):
            yield slice(first, min(first + rows, self.counts[0]))


def mirror(position: int, side: int) -> int:
    """The position in [0, side) that reflection shows at `position`, as numpy.pad."""
    if side == 1:
        return 0
    position %= 2 * (side - 1)
    return min(position, 2 * (side - 1) - position)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """View (B, N·D, H, W) as (B, N, H, W, D)."""
    return x.unflatten(1, (num_heads, -1)).permute(0, 1, 3, 4, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, N, H, W, D) → (B, N·D, H, W), channels last in memory."""
    merged = x.permute(0, 2, 3, 1, 4).flatten(3).permute(0, 3, 1, 2)
    return merged.contiguous(memory_format=torch.channels_last)


def every(x: Tensor, stride: int) -> Tensor:
    """View of every s-th pixel of (B, N, H, W, D)."""
    return x[:, :, ::stride, ::stride]


def empty_queries(like: Tensor, tiles: Tiles) -> Tensor:
    """Uninitialised (B, N, Hq, Wq, D) for all tiles, channels last in memory."""
    batch, heads, _, _, dim = like.shape
    return like.new_empty(batch, *tiles.covered, heads, dim).permute(0, 3, 1, 2, 4)


def pad_queries(q: Tensor, tiles: Tiles) -> Tensor:
    """Add zeros where tiles overhang."""
    missing = [c - n for c, n in zip(tiles.covered, q.shape[2:4], strict=True)]
    return F.pad(q, (0, 0, 0, missing[1], 0, missing[0])) if any(missing) else q


def crop_queries(q: Tensor, tiles: Tiles) -> Tensor:
    """The inverse of `pad_queries`."""
    height, width = tiles.out_size
    return q[:, :, :height, :width]


def query_tiles(q: Tensor, tiles: Tiles) -> Tensor:
    """View padded queries as (B, N, ny, nx, ty, tx, D)."""
    (ty, tx), (ny, nx) = tiles.tile, tiles.counts
    return q.unflatten(3, (nx, tx)).unflatten(2, (ny, ty)).transpose(3, 4)


def pad_keys(x: Tensor, tiles: Tiles) -> Tensor:
    """Pad a map by reflection: (B, N, H, W, D) → (B, N, Hp, Wp, D)."""
    batch, heads, height, width, dim = x.shape
    r = tiles.radius
    padded = x.new_empty(batch, heads, *tiles.padded, dim)
    padded[:, :, r : r + height, r : r + width] = x
    for axis in (1, 0):
        padding, shown = _on(x.device, *tiles.mirrored(axis))
        padded.index_copy_(2 + axis, padding, padded.index_select(2 + axis, shown))
    return padded


def empty_gradient(padded: Tensor, tiles: Tiles) -> Tensor:
    """Zeros for the gradient of padded keys, with room to cut them into windows."""
    below, right = (n * s - w for n, s, w in zip(*_apart(tiles), strict=True))
    return F.pad(torch.zeros_like(padded), (0, 0, 0, right, 0, below))


def pad_keys_backward(grad: Tensor, tiles: Tiles) -> Tensor:
    """Gradient of `pad_keys` from what `empty_gradient` made; it is overwritten."""
    (height, width), (hp, wp), r = tiles.size, tiles.padded, tiles.radius
    grad = grad[:, :, :hp, :wp]
    for axis in (0, 1):
        padding, shown = _on(grad.device, *tiles.mirrored(axis))
        grad.index_add_(2 + axis, shown, grad.index_select(2 + axis, padding))
    return grad[:, :, r : r + height, r : r + width]


def key_windows(padded: Tensor, tiles: Tiles) -> Tensor:
    """View padded keys as overlapping windows (B, N, ny, nx, wy, wx, D)."""
    (wy, wx), (sy, sx) = tiles.window, tiles.steps
    ny, nx = tiles.counts
    windows = padded.unfold(2, wy, sy).unfold(3, wx, sx)[:, :, :ny, :nx]
    return windows.permute(0, 1, 2, 3, 5, 6, 4)


def add_to_windows(grad: Tensor, chunk: Tensor, first: int, tiles: Tiles) -> None:
    """Add windows where `key_windows` cut them; where windows meet they sum.

    Args:
        grad: (B, N, ≥ Hp, ≥ Wp, D) from `empty_gradient`, changed in place.
        chunk: (B, N, rows, nx, wy, wx, D), windows of some rows of tiles.
        first: The first of these rows.
    """
    (ay, ax), (sy, sx), (wy, wx) = _apart(tiles)
    for y in range(min(ay, chunk.shape[2])):
        for x in range(min(ax, chunk.shape[3])):
            part = chunk[:, :, y::ay, x::ax]  # windows that do not overlap
            ny, nx = part.shape[2:4]
            top, left = (first + y) * sy, x * sx
            cells = grad[:, :, top : top + ny * ay * sy, left : left + nx * ax * sx]
            # Not by unfold: torch.compile drops what its windows leave between them.
            cells = cells.unflatten(3, (nx, ax * sx)).unflatten(2, (ny, ay * sy))
            windows = cells[:, :, :, :wy, :, :wx]
            windows.add_(part.transpose(3, 4))


def _apart(tiles: Tiles) -> tuple[tuple[int, ...], ...]:
    """Every how many windows one does not overlap; their steps; their sizes."""
    pairs = zip(tiles.window, tiles.steps, strict=True)
    return (
        tuple(-(-window // step) for window, step in pairs),
        tiles.steps,
        tiles.window,
    )


def _on(device: torch.device, *positions: list[int]) -> list[Tensor]:
    return [torch.tensor(p, dtype=torch.long, device=device) for p in positions]
