"""Sliding-window attention by fused kernels: FlexAttention, and NATTEN if installed.

Both take maps padded by reflection, so that no query stands at a border. They never
hold weights or windows; the gradients are their own.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from .fold import Tiles, every, merge_heads, pad_keys, split_heads

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

# FlexAttention leaves out blocks of 128×128 pairs that see nothing of each other. A
# block of 8×16 neighbours sees 2×2 such blocks, of a line of 128 it would see 7×3.
_BLOCK = (8, 16)


def flex_local_attention(
    q: Tensor, k: Tensor, v: Tensor, num_heads: int, tiles: Tiles
) -> Tensor:
    """`local_attention` by PyTorch's FlexAttention; `tiles.side` does not matter.

    Raises:
        NotImplementedError: By PyTorch, where a gradient is asked for on a CPU.
    """
    tiles = replace(tiles, side=1)  # padded keys without overhang
    q, k, v = (split_heads(x, num_heads) for x in (q, k, v))
    keys, values = (_to_blocks(pad_keys(x, tiles)) for x in (k, v))
    queries = _to_blocks(every(q, tiles.stride))
    mask = _block_mask(tiles, q.device)
    out = _flex_attention()(queries, keys, values, block_mask=mask)
    return merge_heads(_from_blocks(out, tiles.out_size))


def natten_local_attention(
    q: Tensor, k: Tensor, v: Tensor, num_heads: int, tiles: Tiles
) -> Tensor:
    """`local_attention` by NATTEN's neighbourhood attention, at stride and dilation 1.

    NATTEN moves the windows of border pixels inwards; they are padding here.
    """
    from natten import na2d

    (height, width), r = tiles.size, tiles.radius
    q, k, v = (split_heads(x, num_heads) for x in (q, k, v))
    k, v = (pad_keys(x, replace(tiles, side=1)) for x in (k, v))
    q = F.pad(q, (0, 0, r, r, r, r))
    last = (x.permute(0, 2, 3, 1, 4).contiguous() for x in (q, k, v))
    out = na2d(*last, kernel_size=tiles.kernel_size)
    return merge_heads(out[:, r : r + height, r : r + width].permute(0, 3, 1, 2, 4))


@cache
def _flex_attention() -> Callable[..., Tensor]:
    """FlexAttention compiled for any map size.

    Without the compiler it would make the whole matrix of weights: a graph too many is
    an error, and newer PyTorch is told of more layers than its eight.
    """
    from torch.nn.attention.flex_attention import flex_attention

    known = inspect.signature(torch.compile).parameters
    limit = dict(recompile_limit=64) if 'recompile_limit' in known else {}
    return torch.compile(flex_attention, fullgraph=True, dynamic=True, **limit)


def _to_blocks(x: Tensor) -> Tensor:
    """(B, N, H, W, D) → (B, N, blocks·128, D), filled up with zeros."""
    (by, bx), (height, width) = _BLOCK, x.shape[2:4]
    x = F.pad(x, (0, 0, 0, -width % bx, 0, -height % by))
    blocks = x.unflatten(3, (-1, bx)).unflatten(2, (-1, by)).transpose(3, 4)
    return blocks.flatten(2, 5)


def _from_blocks(x: Tensor, size: tuple[int, ...]) -> Tensor:
    """The inverse of `_to_blocks` for maps of H×W."""
    (by, bx), (height, width) = _BLOCK, size
    blocks = x.unflatten(2, (-(-height // by), -(-width // bx), by, bx))
    return blocks.transpose(3, 4).flatten(4, 5).flatten(2, 3)[:, :, :height, :width]


@lru_cache(maxsize=64)
@torch.inference_mode(mode=False)
def _block_mask(tiles: Tiles, device: torch.device) -> 'BlockMask':
    """Which keys a query sees, and which blocks of queries see which blocks of keys."""
    from torch.nn.attention.flex_attention import BlockMask

    (by, bx), reach = _BLOCK, 2 * tiles.radius
    stride, dilation = tiles.stride, tiles.dilation
    # Tensors, as PyTorch compiles for numbers from outside anew with every size.
    q_columns, k_columns, last_y, last_x = (
        torch.tensor(number, dtype=torch.int32, device=device)
        for number in (
            -(-tiles.out_size[1] // bx),
            -(-tiles.padded[1] // bx),
            *(count - 1 for count in tiles.out_size),
        )
    )

    def pixel(index: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        block, inner = index // (by * bx), index % (by * bx)
        return block // columns * by + inner // bx, block % columns * bx + inner % bx

    def sees(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        (q_y, q_x), (y, x) = pixel(query, q_columns), pixel(key, k_columns)
        # What overhangs the queries sees what the last of its line sees.
        y = y - stride * torch.minimum(q_y, last_y)
        x = x - stride * torch.minimum(q_x, last_x)
        inside = (y >= 0) & (y <= reach) & (x >= 0) & (x <= reach)
        return inside & (y % dilation == 0) & (x % dilation == 0)

    rows, cols = (_blocks_meet(tiles, axis, device) for axis in (0, 1))
    meet = rows[:, None, :, None] & cols[None, :, None, :]
    meet = meet.flatten(2).flatten(0, 1).int()[None, None]
    order = meet.argsort(dim=-1, descending=True, stable=True).int()
    return BlockMask.from_kv_blocks(
        meet.sum(-1, dtype=torch.int32), order, BLOCK_SIZE=by * bx, mask_mod=sees
    )


def _blocks_meet(tiles: Tiles, axis: int, device: torch.device) -> Tensor:
    """(blocks of queries, blocks of keys) along an axis: does one see the other?"""
    side, count, padded = _BLOCK[axis], tiles.out_size[axis], tiles.padded[axis]
    queries = torch.arange(0, count, side, device=device)[:, None]
    keys = torch.arange(0, padded, side, device=device)
    first = queries * tiles.stride
    last = (queries + side - 1).clamp(max=count - 1) * tiles.stride + 2 * tiles.radius
    return (keys + side > first) & (keys <= last)
