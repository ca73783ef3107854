"""Shift and sum: a k×k convolution as k² maps that are shifted and added.

Map m of a position d moves by the offset of tap m of a k×k kernel, and the k² moved
maps are added. In all functions f has shape (B, D·k², H, W), map m of position d at
channel d·k² + m; sides of the output are ceil(side / stride); outside is zero.
"""

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
