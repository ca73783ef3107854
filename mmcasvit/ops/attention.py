"""Sliding-window attention in tiles: each key is read a few times, not k² times.

A tile of queries looks at one window of keys, the union of their k×k windows. Windows
are gathered for a few rows of tiles at a time, a static mask takes away what a query
must not see, and batched matrix products do the rest. The backward pass computes the
weights again instead of keeping them: the peak memory is that of a few maps.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from .checks import (
    check_choice,
    check_divides,
    check_maps,
    check_odd,
    check_positive,
    own_precision,
)
from .choice import fastest
from .fold import (
    Tiles,
    add_to_windows,
    crop_queries,
    empty_gradient,
    empty_queries,
    every,
    key_windows,
    merge_heads,
    pad_keys,
    pad_keys_backward,
    pad_queries,
    query_tiles,
    split_heads,
)
from .kernels import flex_local_attention, natten_local_attention


def local_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    kernel_size: int = 7,
    stride: int = 1,
    dilation: int = 1,
    implementation: str | None = None,
) -> Tensor:
    """Multi-head attention of each pixel to the window around it.

    out_i = Σ_{j ∈ W(s·i)} softmax_j(q_{s·i} · k_j / √D) v_j, where W(p) are the k×k
    pixels around p in steps of `dilation`, keys and values padded by reflection.

    Args:
        q, k, v: Queries, keys, values; channel n·D + d is dimension d of head n.
        num_heads: Heads N; each has D = C/N channels.
        kernel_size: Side k of the window, odd.
        stride: Every s-th pixel is a query.
        dilation: Step between the keys of a window.
        implementation: 'tiles'; 'flex' (FlexAttention, compiled); 'natten' (where it is
            installed, at stride and dilation 1); None: what `fastest` finds.

    Shape:
        q, k, v (B, C, H, W), any H, W ≥ 1: a side smaller than the padding reflects
        repeatedly, as `numpy.pad` does, and a side of 1 repeats.
        output (B, C, ceil(H/s), ceil(W/s)), channels last in memory.

    Raises:
        ValueError: If shapes differ, heads do not divide C, k is even, a size is < 1,
            the implementation is not one of those that can serve.
        TypeError: If dtypes or devices differ.

    Note:
        Differentiable once. In half precision weights and sums are float32. Fastest
        on tensors that are channels last in memory.

    Source:
        ACmix, arXiv 2111.14556, Eq. 6, equal to its release; computed in our own way.
    """
    check_maps(q=q, k=k, v=v)
    check_divides(num_heads, q.shape[1])
    check_odd('kernel_size', kernel_size)
    check_positive(stride=stride, dilation=dilation)
    side = _FUSED_TILE if _fused(q) else _PLAIN_TILE
    tiles = Tiles(tuple(q.shape[2:]), kernel_size, stride, dilation, side)
    serving = _implementations(tiles)
    with own_precision(q):
        if implementation is None:
            layer = q.shape[1], num_heads, replace(tiles, size=())
            implementation = fastest(serving, (q, k, v), (num_heads, tiles), layer)
        check_choice('implementation', implementation, serving)
        return serving[implementation](q, k, v, num_heads, tiles)


def _implementations(tiles: Tiles) -> dict[str, Callable[..., Tensor]]:
    """Those that can serve, by name; each takes q, k, v, num_heads and tiles."""
    serving = dict(tiles=_tiled, flex=flex_local_attention)
    dense = tiles.stride == tiles.dilation == 1 < tiles.kernel_size
    if dense and _NATTEN:
        serving['natten'] = natten_local_attention
    return serving


def _tiled(q: Tensor, k: Tensor, v: Tensor, num_heads: int, tiles: Tiles) -> Tensor:
    learns = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))
    attend = _LocalAttention.apply if learns else _forward
    return attend(q, k, v, num_heads, tiles)


# Measured: small tiles waste least where products are cheap to start; a fused kernel
# wants larger ones. A chunk stays in a CPU's cache, and fills a GPU.
_PLAIN_TILE, _FUSED_TILE = 4, 8
_NATTEN = find_spec('natten') is not None
_CHUNK_ELEMENTS = {'cpu': 2**20, 'cuda': 2**26}


def _fused(q: Tensor) -> bool:
    """Whether PyTorch's fused kernel serves: weights are float32 in half precision.

    On a CPU plain products are faster in single precision, and exact in double.
    """
    return q.device.type != 'cpu' or q.dtype in (torch.float16, torch.bfloat16)


def _mask(tiles: Tiles, like: Tensor) -> Tensor:
    """(queries of a tile, keys of its window): 0 where a query sees a key, else −∞."""
    rows, cols = (tiles.sees(axis, like.device) for axis in (0, 1))
    sees = rows[:, None, :, None] & cols[None, :, None, :]
    mask = like.new_zeros(sees.shape).masked_fill_(~sees, -math.inf)
    return mask.flatten(2).flatten(0, 1)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Masked attention of tiles: q (T, L, D), k and v (T, S, D) → (T, L, D)."""
    scale = q.shape[-1] ** -0.5
    if _fused(q):
        q, k, v = q[:, None], k[:, None], v[:, None]
        return F.scaled_dot_product_attention(q, k, v, mask, scale=scale).squeeze(1)
    scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=scale)  # (T, L, S)
    return torch.bmm(scores.softmax(-1), v)


def _attend_backward(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, grad: Tensor
) -> tuple[Tensor, ...]:
    """Gradients of `_attend` for q, k and v; the weights are computed again."""
    return torch.func.vjp(partial(_attend, mask=mask), q, k, v)[1](grad)


def _forward(q: Tensor, k: Tensor, v: Tensor, num_heads: int, tiles: Tiles) -> Tensor:
    q, k, v = (split_heads(x, num_heads) for x in (q, k, v))
    queries = query_tiles(pad_queries(every(q, tiles.stride), tiles), tiles)
    keys, values = (key_windows(pad_keys(x, tiles), tiles) for x in (k, v))
    mask = _mask(tiles, q)
    out = empty_queries(q, tiles)
    out_tiles = query_tiles(out, tiles)
    for rows in _chunks(q, tiles):
        chunk = (_gather(x[:, :, rows]) for x in (queries, keys, values))
        _scatter(_attend(*chunk, mask), out_tiles[:, :, rows])
    return merge_heads(crop_queries(out, tiles))


def _backward(
    q: Tensor, k: Tensor, v: Tensor, grad: Tensor, num_heads: int, tiles: Tiles
) -> tuple[Tensor, ...]:
    """Gradients for q, k, v: tiles as in `_forward`, sums where windows overlap."""
    q, k, v, grad = (split_heads(x, num_heads) for x in (q, k, v, grad))
    padded = [pad_keys(x, tiles) for x in (k, v)]
    keys, values = (key_windows(x, tiles) for x in padded)
    queries = query_tiles(pad_queries(every(q, tiles.stride), tiles), tiles)
    grads = query_tiles(pad_queries(grad, tiles), tiles)
    mask = _mask(tiles, q)

    d_query = empty_queries(q, tiles)
    d_query_tiles = query_tiles(d_query, tiles)
    d_padded = [empty_gradient(x, tiles) for x in padded]
    for rows in _chunks(q, tiles):
        queries_, keys_, values_, grads_ = (
            _gather(x[:, :, rows]) for x in (queries, keys, values, grads)
        )
        d_q, *d_kv = _attend_backward(queries_, keys_, values_, mask, grads_)
        _scatter(d_q, d_query_tiles[:, :, rows])
        shape = keys[:, :, rows].shape
        for d_chunk, d in zip(d_kv, d_padded, strict=True):
            add_to_windows(d, d_chunk.view(shape), rows.start, tiles)

    d_query = crop_queries(d_query, tiles)
    if tiles.stride > 1:
        whole = q.new_zeros(q.shape)
        every(whole, tiles.stride).copy_(d_query)
        d_query = whole
    d_keys = (pad_keys_backward(x, tiles) for x in d_padded)
    return tuple(merge_heads(x) for x in (d_query, *d_keys))


class _LocalAttention(torch.autograd.Function):
    """`_forward`, which keeps nothing but its inputs for `_backward`."""

    @staticmethod
    def forward(
        ctx: object, q: Tensor, k: Tensor, v: Tensor, num_heads: int, tiles: Tiles
    ) -> Tensor:
        ctx.save_for_backward(q, k, v)
        ctx.arguments = num_heads, tiles
        return _forward(q, k, v, num_heads, tiles)

    @staticmethod
    @once_differentiable
    def backward(ctx: object, grad: Tensor) -> tuple[Tensor | None, ...]:
        return *_backward(*ctx.saved_tensors, grad, *ctx.arguments), None, None


def _chunks(q: Tensor, tiles: Tiles) -> Iterator[slice]:
    elements = _CHUNK_ELEMENTS['cpu' if q.device.type == 'cpu' else 'cuda']
    return tiles.chunks(elements, maps=q.shape[0] * q.shape[1], dim=q.shape[-1])


def _gather(parts: Tensor) -> Tensor:
    """Copy tiles or windows (B, N, ny, nx, y, x, D) to (B·N·ny·nx, y·x, D)."""
    return parts.flatten(4, 5).flatten(0, 3)


def _scatter(chunk: Tensor, tiles: Tensor) -> None:
    """The inverse of `_gather` for tiles, which do not overlap."""
    tiles.copy_(chunk.view(tiles.shape))
