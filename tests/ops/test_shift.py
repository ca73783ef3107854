import pytest
import torch
from torch.nn import functional as F

from mmcasvit.ops import (
    compose_kernel,
    depthwise_shift,
    grouped_shift,
    grouped_shift_weight,
    shift_kernels,
    tensor_shift,
)
from mmcasvit.ops.shift import take_outside_


@pytest.mark.parametrize('kernel_size', [1, 3, 5])
@pytest.mark.parametrize('stride', [1, 2, 3])
@pytest.mark.parametrize('dilation', [1, 2])
@pytest.mark.parametrize('size', [(1, 1), (1, 9), (3, 6), (13, 20)])
class TestForms:
    def test_all_equal_at_the_start(self, size, dilation, stride, kernel_size):
        dim, groups = 3, 4
        f = torch.randn(2, dim * kernel_size**2, *size, dtype=torch.float64)
        geometry = dict(stride=stride, dilation=dilation)
        moved = tensor_shift(f, kernel_size, **geometry)
        assert moved.shape == (2, dim, *(-(-side // stride) for side in size))
        fixed = depthwise_shift(f, kernel_size, **geometry)
        weight = grouped_shift_weight(dim, kernel_size).double()
        learnable = grouped_shift(f, weight, **geometry)
        weights = grouped_shift_weight(dim, kernel_size, groups).double()
        multi = grouped_shift(f, weights, **geometry)
        for form in (fixed, learnable):
            torch.testing.assert_close(form, moved)
        torch.testing.assert_close(multi, moved.repeat_interleave(groups, 1))

    def test_border_sees_fewer_biases(self, size, dilation, stride, kernel_size):
        """Against a convolution of a map of ones."""
        taps = torch.randn(5, kernel_size, kernel_size, dtype=torch.float64)
        pad = dilation * (kernel_size // 2)
        ones = torch.ones(2, 1, *size, dtype=torch.float64)
        wanted = F.conv2d(ones, taps[:, None], None, stride, pad, dilation)
        whole = taps.sum((1, 2))[:, None, None]
        out = torch.zeros_like(wanted) + whole
        assert take_outside_(out, taps, size, stride, dilation) is out
        torch.testing.assert_close(out, wanted)

    def test_convolution_is_shift_and_sum(self, size, dilation, stride, kernel_size):
        """The paper's decomposition: 1×1 convolutions per tap, shifted and summed."""
        x = torch.randn(2, 5, *size, dtype=torch.float64)
        weight = torch.randn(3, 5, kernel_size, kernel_size, dtype=torch.float64)
        pad = dilation * (kernel_size // 2)
        wanted = F.conv2d(x, weight, None, stride, pad, dilation)
        per_tap = weight.permute(0, 2, 3, 1).reshape(-1, 5, 1, 1)  # (D·k², C_in, 1, 1)
        f = F.conv2d(x, per_tap)
        got = tensor_shift(f, kernel_size, stride, dilation)
        torch.testing.assert_close(got, wanted)


def test_kernels_are_one_hot():
    kernels = shift_kernels(3)
    assert kernels.shape == (9, 3, 3)
    assert kernels.sum() == 9
    assert all(kernels[tap, tap // 3, tap % 3] == 1 for tap in range(9))


@pytest.mark.parametrize(('stride', 'dilation'), [(1, 1), (2, 1), (2, 2)])
def test_composed_kernel_is_the_chain(stride, dilation):
    heads, dim, in_channels = 2, 3, 5
    projection = torch.randn(3 * heads, dim, in_channels, dtype=torch.float64)
    fc = torch.randn(9, 3 * heads, dtype=torch.float64)
    shift = torch.randn(dim * heads, 9, 3, 3, dtype=torch.float64)
    x = torch.randn(2, in_channels, 7, 8, dtype=torch.float64)

    maps = torch.einsum('jdc,bchw->bjdhw', projection, x)
    f = torch.einsum('mj,bjdhw->bdmhw', fc, maps).flatten(1, 2)
    wanted = grouped_shift(f, shift, stride=stride, dilation=dilation)
    kernel = compose_kernel(projection, fc, shift)
    assert kernel.shape == (dim * heads, in_channels, 3, 3)
    got = F.conv2d(x, kernel, None, stride, dilation, dilation)
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize(
    ('call', 'text'),
    [
        (lambda: shift_kernels(2), 'kernel_size must be odd'),
        (
            lambda: tensor_shift(torch.zeros(1, 10, 4, 4), 3),
            r'f must be \(B, D·9, H, W',
        ),
        (lambda: tensor_shift(torch.zeros(1, 9, 4, 4), 3, stride=0), 'stride must be'),
        (lambda: grouped_shift_weight(0, 3), 'dim must be'),
    ],
)
def test_mistakes_are_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()
