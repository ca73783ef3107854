"""Patchwise attention: weights computed from all features of the pixel's footprint.

A footprint's k² neighbours are worked through row by row of the kernel, and each row is
computed again in the backward pass: nothing of k² times a map's size is ever made.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .checks import check_odd
from .fold import mirror


def footprint_moments(x: Tensor, kernel_size: int) -> tuple[Tensor, Tensor]:
    """Mean and variance over the map of each neighbour's features.

    Neighbour j of a pixel lies at tap j of a k×k window around it; beyond the map
    features are reflected.

    Args:
        x: Features.
        kernel_size: k, odd.

    Shape:
        x (B, C, H, W); mean and (biased) variance (k², C) each.
    """
    rows = [
        torch.var_mean(row.flatten(0, 2), 0, correction=0)
        for row in _rows(_pad(x, kernel_size), kernel_size)
    ]  # (k, C) each
    var, mean = (torch.cat(parts) for parts in zip(*rows, strict=True))
    return mean, var


def footprint_linear(
    x: Tensor, scale: Tensor, offset: Tensor, weight: Tensor
) -> Tensor:
    """out_i = Σ_j W_j · relu(a_j ⊙ x_{i+j} + b_j) over the k² neighbours j.

    Args:
        x: Features.
        scale, offset: a and b: a normalisation with statistics of its own for each
            neighbour.
        weight: W.

    Shape:
        x (B, C, H, W), any H, W ≥ 1; scale, offset (k², C); weight (k², C, E);
        output (B, E, H, W), channels last.

    Raises:
        ValueError: If k is no odd number.

    Source:
        SAN, arXiv 2004.13621, Sec. 3.2 (patchwise, concatenation): the first linear
        layer of γ over [φ(x_i), ψ(x_j) for all j].
    """
    kernel_size = _kernel_size(len(weight))
    parts = [p.unflatten(0, (kernel_size, -1)) for p in (scale, offset, weight)]

    def of_row(row: Tensor, a: Tensor, b: Tensor, w: Tensor) -> Tensor:
        return torch.addcmul(b, row, a).relu_().flatten(3) @ w.flatten(0, 1)

    rows = _rows(_pad(x, kernel_size), kernel_size)
    parts = zip(rows, *parts, strict=True)
    return sum(_again(of_row, *part) for part in parts).permute(0, 3, 1, 2)


def footprint_sum(h: Tensor, weight: Tensor, bias: Tensor, v: Tensor) -> Tensor:
    """out_i = Σ_j (W_j h_i + b_j) ⊙ v_{i+j} over the k² neighbours j.

    Each of the G weights of a neighbour holds for C/G channels of v.

    Args:
        h: Hidden features of the pixel, from which its neighbours' weights are made.
        weight, bias: W and b.
        v: Values.

    Shape:
        h (B, E, H, W); weight (k², E, G), bias (k², G); v (B, C, H, W);
        output (B, C, H, W), channels last.

    Raises:
        ValueError: If k is no odd number, or G does not divide C.

    Source:
        SAN, arXiv 2004.13621, Eq. 4: α(x_{R(i)})_j ⊙ β(x_j), summed.
    """
    kernel_size, groups = _kernel_size(len(weight)), weight.shape[2]
    if v.shape[1] % groups:
        raise ValueError(f'{groups} weights do not divide {v.shape[1]} channels of v')
    h = h.permute(0, 2, 3, 1)
    weights = weight.unflatten(0, (kernel_size, -1)).transpose(1, 2)  # (k, E, k, G)
    biases = bias.unflatten(0, (kernel_size, -1))

    def of_row(row: Tensor, w: Tensor, b: Tensor, h: Tensor) -> Tensor:
        scores = (h @ w.flatten(1) + b.flatten()).unflatten(3, (kernel_size, groups, 1))
        taps = zip(scores.unbind(3), row.unbind(3), strict=True)
        return sum(score * x.unflatten(3, (groups, -1)) for score, x in taps)

    rows = _rows(_pad(v, kernel_size), kernel_size)
    parts = zip(rows, weights, biases, strict=True)
    out = sum(_again(of_row, *part, h) for part in parts)
    return out.flatten(3).permute(0, 3, 1, 2)


def _again(function: Callable[..., Tensor], *args: Tensor) -> Tensor:
    """Call, and keep nothing but the arguments for the backward pass."""
    if torch.is_grad_enabled() and any(x.requires_grad for x in args):
        return checkpoint(function, *args, use_reentrant=False)
    return function(*args)


def _kernel_size(taps: int) -> int:
    kernel_size = round(taps**0.5)
    if kernel_size**2 != taps:
        raise ValueError(f'a footprint has k² neighbours, got {taps}')
    check_odd('kernel_size', kernel_size)
    return kernel_size


def _pad(x: Tensor, kernel_size: int) -> Tensor:
    """(B, C, H, W) → (B, Hp, Wp, C), reflected, repeatedly where a side is small."""
    x, r = x.permute(0, 2, 3, 1), kernel_size // 2
    for axis in (1, 2):
        side = x.shape[axis]
        shown = [mirror(p, side) for p in range(-r, side + r)]
        x = x.index_select(axis, torch.tensor(shown, device=x.device))
    return x


def _rows(padded: Tensor, kernel_size: int) -> Iterator[Tensor]:
    """Views (B, H, W, k, C): the neighbours in each row of the window.

    One is made when it is needed: the backward pass, which goes the same way back, then
    has the gradient of one at a time.
    """
    height = padded.shape[1] - kernel_size + 1
    for y in range(kernel_size):
        row = padded[:, y : y + height].unfold(2, kernel_size, 1)
        yield row.transpose(3, 4)
