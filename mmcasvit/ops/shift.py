"""Shift and sum: a k×k convolution as k² maps that are shifted and added.

Map m of a position d moves by the offset of tap m of a k×k kernel, and the k² moved
maps are added. In all functions f has shape (B, D·k², H, W), map m of position d at
channel d·k² + m; sides of the output are ceil(side / stride); outside is zero.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from .checks import check_odd, check_positive


def shift_kernels(kernel_size: int) -> Tensor:
    """One-hot kernels (k², k, k): convolving with kernel m shifts by tap m's offset.

    Raises:
        ValueError: If k is even.
    """
    check_odd('kernel_size', kernel_size)
    return torch.eye(kernel_size**2).unflatten(1, (kernel_size, kernel_size))


def grouped_shift_weight(dim: int, kernel_size: int, groups: int = 1) -> Tensor:
    """Weight (D·G, k², k, k) with which `grouped_shift` shifts and sums.

    Args:
        dim: Positions D.
        kernel_size: k.
        groups: Convolutions G of each position; all start equal.
    """
    check_positive(dim=dim, groups=groups)
    return shift_kernels(kernel_size).repeat(dim * groups, 1, 1, 1)


def tensor_shift(
    f: Tensor, kernel_size: int, stride: int = 1, dilation: int = 1
) -> Tensor:
    """Move whole maps, then add: (B, D·k², H, W) → (B, D, Ho, Wo).

    Source:
        ACmix, arXiv 2111.14556, Fig. 4 a, Eq. 3 to 5.
    """
    maps = _maps(f, kernel_size, stride, dilation)
    height, width = f.shape[2:]
    pad = dilation * (kernel_size // 2)
    padded = F.pad(maps, (pad, pad, pad, pad))
    out = 0
    for tap in range(kernel_size**2):
        y, x = (dilation * i for i in divmod(tap, kernel_size))
        moved = padded[:, :, tap, y : y + height, x : x + width]
        out = out + moved[..., ::stride, ::stride]
    return out


def depthwise_shift(
    f: Tensor, kernel_size: int, stride: int = 1, dilation: int = 1
) -> Tensor:
    """Move maps by fixed depthwise kernels, then add: → (B, D, Ho, Wo).

    Source:
        ACmix, arXiv 2111.14556, Fig. 4 b, Eq. 10.
    """
    dim = _maps(f, kernel_size, stride, dilation).shape[1]
    weight = shift_kernels(kernel_size).to(f)[:, None].repeat(dim, 1, 1, 1)
    pad = dilation * (kernel_size // 2)
    moved = F.conv2d(f, weight, None, stride, pad, dilation, groups=f.shape[1])
    return moved.unflatten(1, (dim, -1)).sum(2)


def grouped_shift(
    f: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    dilation: int = 1,
) -> Tensor:
    """Shift and sum in one grouped convolution with learnable kernels.

    Args:
        f: (B, D·k², H, W).
        weight: (D·G, k², k, k), see `grouped_shift_weight`: G = 1 is the paper's
            learnable form; G = N gives as many channels as N heads have.
        bias: (D·G,).

    Shape:
        output (B, D·G, Ho, Wo), convolution g of position d at channel d·G + g.

    Source:
        ACmix, arXiv 2111.14556, Fig. 4 c, Sec. 4.3.
    """
    kernel_size = weight.shape[-1]
    dim = _maps(f, kernel_size, stride, dilation).shape[1]
    pad = dilation * (kernel_size // 2)
    return F.conv2d(f, weight, bias, stride, pad, dilation, groups=dim)


def compose_kernel(projection: Tensor, fc: Tensor, shift: Tensor) -> Tensor:
    """Compose projection → fc → `grouped_shift` into one kernel.

    K[d·G+g, c, y, x] = Σ_m shift[d·G+g, m, y, x] Σ_j fc[m, j] projection[j, d, c]

    Args:
        projection: (J, D, C): map j of position d, from C input channels.
        fc: (k², J): map m from the J maps, shared by positions.
        shift: (D·G, k², k, k).

    Shape:
        output (D·G, C, k, k), a plain convolution's weight, channels last in memory.
    """
    taps, dim = len(fc), projection.shape[1]
    maps = torch.einsum('mj,jdc->dmc', fc, projection)
    flat = shift.unflatten(0, (dim, -1)).permute(0, 1, 3, 4, 2).reshape(dim, -1, taps)
    kernel = torch.bmm(flat, maps)  # (D, G·k·k, C)
    size = shift.shape[-1]
    return kernel.view(-1, size, size, maps.shape[-1]).permute(0, 3, 1, 2)


def take_outside_(
    out: Tensor, taps: Tensor, size: Sequence[int], stride: int = 1, dilation: int = 1
) -> Tensor:
    """Take from border pixels what taps outside the map would have added; in place.

    A bias in front of a zero-padded convolution adds Σ taps to each pixel. At the
    border, some taps look outside, where there is no bias:
    out_c(y, x) −= Σ taps_c over the taps of (y, x) outside the map.

    Args:
        out: Output of the convolution with the bias Σ taps, (B, C, Ho, Wo).
        taps: (C, k, k).
        size: H, W of its input.
        stride, dilation: Of the convolution, whose padding is dilation·(k // 2).
    """
    edges, inside = [], []
    for side in size:
        edge, seen = _edge(side, taps.shape[-1], stride, dilation)
        edges.append(torch.tensor(edge, dtype=torch.long, device=out.device))
        inside.append(torch.tensor(seen, device=out.device).to(taps))
    whole, rows = taps.sum((1, 2)), inside[0].index_select(0, edges[0])
    cols = inside[1].index_select(0, edges[1])
    # (C, edge rows, Wo), and (C, Ho, edge columns) without these rows
    at_rows = (
        torch.einsum('yi,xj,cij->cyx', rows, inside[1], taps) - whole[:, None, None]
    )
    at_cols = torch.einsum('xj,cij->cx', cols, taps) - whole[:, None]
    between = torch.ones_like(inside[0][:, 0]).index_fill(0, edges[0], 0)
    for axis, part in (2, at_rows), (3, at_cols[:, None] * between[:, None]):
        band = part.to(out.dtype).expand(len(out), *part.shape)
        out = out.index_add_(axis, edges[axis - 2], band)
    return out


def _edge(
    side: int, kernel_size: int, stride: int, dilation: int
) -> tuple[list[int], list[list[bool]]]:
    """Output positions with taps outside along an axis; for all, which are inside."""
    first = -dilation * (kernel_size // 2)
    seen = [
        [0 <= at + first + dilation * tap < side for tap in range(kernel_size)]
        for at in range(0, side, stride)
    ]
    return [at for at, taps in enumerate(seen) if not all(taps)], seen


def _maps(f: Tensor, kernel_size: int, stride: int, dilation: int) -> Tensor:
    """View (B, D·k², H, W) as (B, D, k², H, W), after checks."""
    check_odd('kernel_size', kernel_size)
    check_positive(stride=stride, dilation=dilation)
    taps = kernel_size**2
    if f.ndim != 4 or f.shape[1] % taps:
        raise ValueError(
            f'f must be (B, D·{taps}, H, W) for kernel_size={kernel_size}, got '
            f'{tuple(f.shape)}'
        )
    return f.unflatten(1, (-1, taps))
