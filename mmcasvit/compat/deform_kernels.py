"""mmcv's compiled deformable convolutions on torchvision's `deform_conv2d`.

Same contract as `kernels.py`. Groups follow from the weight's shape, offset groups
from the offset's, so mmcv's `group`, `deformable_group` and `im2col_step` are not
needed.
"""

from typing import Any

import torch
from torch import Tensor

from .environment import import_torchvision
from .kernels import gradients


def _deform_conv(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    geometry: dict[str, tuple[int, int]],
) -> Tensor:
    ops = import_torchvision().ops
    return ops.deform_conv2d(input, offset, weight, mask=mask, **geometry)


def _plain_geometry(options: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return dict(
        stride=(options['dH'], options['dW']),
        padding=(options['padH'], options['padW']),
        dilation=(options['dilationH'], options['dilationW']),
    )


def _modulated_geometry(options: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return dict(
        stride=(options['stride_h'], options['stride_w']),
        padding=(options['pad_h'], options['pad_w']),
        dilation=(options['dilation_h'], options['dilation_w']),
    )


def deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    output: Tensor,
    columns: Tensor,
    ones: Tensor,
    **options: Any,
) -> None:
    """Deformable convolution (v1), without bias."""
    geometry = _plain_geometry(options)
    output.copy_(_deform_conv(input, offset, weight, None, geometry))


def deform_conv_backward_input(
    input: Tensor,
    offset: Tensor,
    grad_output: Tensor,
    grad_input: Tensor,
    grad_offset: Tensor,
    weight: Tensor,
    columns: Tensor,
    **options: Any,
) -> None:
    """Gradients of v1 with respect to input and offset."""
    geometry = _plain_geometry(options)

    def product(x: Tensor, off: Tensor) -> Tensor:
        return (_deform_conv(x, off, weight, None, geometry) * grad_output).sum()

    for target, grad in zip(
        (grad_input, grad_offset), gradients(product, [input, offset]), strict=True
    ):
        target.copy_(grad)


def deform_conv_backward_parameters(
    input: Tensor,
    offset: Tensor,
    grad_output: Tensor,
    grad_weight: Tensor,
    columns: Tensor,
    ones: Tensor,
    scale: float,
    **options: Any,
) -> None:
    """Gradient of v1 with respect to the weight, times `scale`, added."""
    geometry = _plain_geometry(options)

    def product(w: Tensor) -> Tensor:
        return (_deform_conv(input, offset, w, None, geometry) * grad_output).sum()

    # The output is linear in the weight: its gradient is the same at any weight.
    grad_weight.add_(
        gradients(product, [torch.zeros_like(grad_weight)])[0], alpha=scale
    )


def modulated_deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    output: Tensor,
    columns: Tensor,
    with_bias: bool,
    **options: Any,
) -> None:
    """Modulated deformable convolution (v2)."""
    result = _deform_conv(input, offset, weight, mask, _modulated_geometry(options))
    output.copy_(result + bias[:, None, None] if with_bias else result)


def modulated_deform_conv_backward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    columns: Tensor,
    grad_input: Tensor,
    grad_weight: Tensor,
    grad_bias: Tensor,
    grad_offset: Tensor,
    grad_mask: Tensor,
    grad_output: Tensor,
    with_bias: bool,
    **options: Any,
) -> None:
    """Gradients of v2 with respect to everything, added to what is given."""
    geometry = _modulated_geometry(options)

    def product(x: Tensor, off: Tensor, m: Tensor, w: Tensor) -> Tensor:
        return (_deform_conv(x, off, w, m, geometry) * grad_output).sum()

    targets = (grad_input, grad_offset, grad_mask, grad_weight)
    grads = gradients(product, [input, offset, mask, weight])
    for target, grad in zip(targets, grads, strict=True):
        target.add_(grad)
    if with_bias:
        grad_bias.add_(grad_output.sum((0, 2, 3)))
