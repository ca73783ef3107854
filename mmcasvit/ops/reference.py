"""Slow, obvious twins of the operators: what the fast ones are tested against."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from .fold import mirror


def pad_reflect(x: Tensor, pad: int) -> Tensor:
    """Reflection padding of (B, C, H, W) that repeats, as numpy.pad's 'reflect'."""
    height, width = x.shape[2:]
    rows = [mirror(y, height) for y in range(-pad, height + pad)]
    cols = [mirror(c, width) for c in range(-pad, width + pad)]
    return x[:, :, rows][:, :, :, cols]


def local_attention_loop(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    kernel_size: int = 7,
    stride: int = 1,
    dilation: int = 1,
) -> Tensor:
    """The definition of `local_attention`, pixel by pixel."""
    batch, channels, height, width = q.shape
    dim = channels // num_heads
    pad = dilation * (kernel_size // 2)
    k, v = pad_reflect(k, pad), pad_reflect(v, pad)
    reach = 2 * pad + 1
    rows = []
    for y in range(0, height, stride):
        row = []
        for x in range(0, width, stride):
            near = (..., slice(y, y + reach, dilation), slice(x, x + reach, dilation))
            keys = k[near].reshape(batch, num_heads, dim, -1)
            values = v[near].reshape(batch, num_heads, dim, -1)
            query = q[..., y, x].reshape(batch, num_heads, dim, 1)
            weights = ((query * keys).sum(2) / math.sqrt(dim)).softmax(-1)
            row.append((weights[:, :, None] * values).sum(-1).flatten(1))
        rows.append(torch.stack(row, -1))
    return torch.stack(rows, -2)


def local_attention_unfold(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    kernel_size: int = 7,
    stride: int = 1,
    dilation: int = 1,
    pe: Tensor | None = None,
) -> Tensor:
    """The textbook form: k² copies of k and v, unfolded; what ACmix's release does.

    Args:
        pe: Position encoding (1, D, H, W), shared by heads; scores are then
            q_i · (k_j + pe_i − pe_j) / √D.
    """
    batch, channels, height, width = q.shape
    dim = channels // num_heads
    pad, taps = dilation * (kernel_size // 2), kernel_size**2
    out_size = -(-height // stride), -(-width // stride)

    def unfold(x: Tensor) -> Tensor:
        columns = F.unfold(pad_reflect(x, pad), kernel_size, dilation, 0, stride)
        return columns.view(-1, dim, taps, *out_size)

    heads = q.reshape(batch * num_heads, dim, height, width)
    query = heads[:, :, None, ::stride, ::stride]  # (B·N, D, 1, Ho, Wo)
    keys, values = (unfold(x.reshape_as(heads)) for x in (k, v))
    scores = (query * keys).sum(1)  # (B·N, k², Ho, Wo)
    if pe is not None:
        position = pe[:, :, None, ::stride, ::stride] - unfold(pe)
        scores = scores + (query * position).sum(1)
    weights = (scores / math.sqrt(dim)).softmax(1)
    out = (weights[:, None] * values).sum(2)
    return out.reshape(batch, channels, *out_size)


def acmix_unfold(
    x: Tensor,
    parts: dict[str, Tensor],
    num_heads: int,
    attention_kernel_size: int = 7,
    stride: int = 1,
    dilation: int = 1,
) -> Tensor:
    """ACmix part by part: unfolded attention, k²·D maps, a grouped convolution.

    Args:
        parts: Parameters of a layer with both paths, by the names of `layers.ACmix`.
    """
    q, k, v = (F.conv2d(x, parts[f'{n}.weight'], parts[f'{n}.bias']) for n in 'qkv')
    batch, channels, height, width = q.shape
    dim = channels // num_heads

    cols = torch.linspace(-1, 1, width).to(x).expand(height, width)
    rows = torch.linspace(-1, 1, height).to(x)[:, None].expand(height, width)
    grid = torch.stack((cols, rows))[None]
    position = 'attention.position'
    pe = F.conv2d(grid, parts[f'{position}.weight'], parts[f'{position}.bias'])
    attention = local_attention_unfold(
        q, k, v, num_heads, attention_kernel_size, stride, dilation, pe
    )

    maps = torch.cat((q, k, v), 1).reshape(batch, 3 * num_heads, dim * height, width)
    taps = F.conv2d(maps, parts['fc.weight'])  # (B, k², D·H, W)
    taps = taps.view(batch, -1, dim, height, width).transpose(1, 2)
    shift = parts['shift.weight']
    convolution = F.conv2d(
        taps.reshape(batch, -1, height, width),
        shift,
        parts.get('shift.bias'),
        stride,
        dilation * (shift.shape[-1] // 2),
        dilation,
        groups=dim,
    )
    return parts['alpha'] * attention + parts['beta'] * convolution


def global_attention_whole(q: Tensor, k: Tensor, v: Tensor, num_heads: int) -> Tensor:
    """The definition of `global_attention`, with all weights at once."""
    heads = [x.flatten(2).unflatten(1, (num_heads, -1)) for x in (q, k, v)]
    query, keys, values = heads  # (B, N, D, pixels)
    scores = torch.einsum('bndi,bndj->bnij', query, keys) / math.sqrt(query.shape[2])
    out = torch.einsum('bnij,bndj->bndi', scores.softmax(-1), values)
    return out.reshape_as(q)


def window_attention_masked(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    window_size: int,
    rolled: tuple[int, int] = (0, 0),
    bias: Tensor | None = None,
) -> Tensor:
    """The definition of `window_attention`: all pixels, less those not to be seen."""
    height, width = q.shape[2:]
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing='ij')
    y, x = y.flatten().to(q.device), x.flatten().to(q.device)
    sides = [y // window_size, x // window_size]
    sides += [y >= height - rolled[0], x >= width - rolled[1]]
    unseen = torch.stack([side[:, None] != side for side in sides]).any(0)
    query, keys, values = (
        x.flatten(2).unflatten(1, (num_heads, -1)) for x in (q, k, v)
    )
    scores = torch.einsum('bndi,bndj->bnij', query, keys) / math.sqrt(query.shape[2])
    if bias is not None:
        at = y % window_size * window_size + x % window_size
        scores = scores + bias[:, at[:, None], at]
    weights = scores.masked_fill(unseen, -math.inf).softmax(-1)
    return torch.einsum('bnij,bndj->bndi', weights, values).reshape_as(q)


def footprint_unfold(x: Tensor, kernel_size: int) -> Tensor:
    """All k² neighbours of each pixel, (B, k², C, H, W), beyond the map reflected."""
    batch, channels, height, width = x.shape
    columns = F.unfold(pad_reflect(x, kernel_size // 2), kernel_size)
    columns = columns.view(batch, channels, -1, height, width)
    return columns.transpose(1, 2)


def footprint_linear_unfold(
    x: Tensor, scale: Tensor, offset: Tensor, weight: Tensor
) -> Tensor:
    """The definition of `footprint_linear` on an unfolded map."""
    near = footprint_unfold(x, math.isqrt(len(weight)))
    active = F.relu(near * scale[..., None, None] + offset[..., None, None])
    return torch.einsum('bjchw,jce->behw', active, weight)


def footprint_sum_unfold(h: Tensor, weight: Tensor, bias: Tensor, v: Tensor) -> Tensor:
    """The definition of `footprint_sum` on an unfolded map."""
    near = footprint_unfold(v, math.isqrt(len(weight)))
    scores = torch.einsum('behw,jeg->bjghw', h, weight) + bias[..., None, None]
    scores = scores.repeat_interleave(v.shape[1] // weight.shape[2], 2)
    return (scores * near).sum(1)
