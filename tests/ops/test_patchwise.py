import pytest
import torch

from mmcasvit.ops import footprint_linear, footprint_moments, footprint_sum
from mmcasvit.ops.reference import (
    footprint_linear_unfold,
    footprint_sum_unfold,
    footprint_unfold,
)

SIZES = [(1, 1), (1, 9), (3, 6), (13, 20)]
PRECISIONS = [(torch.float64, 1e-10), (torch.float32, 1e-4)]


def results(operators, inputs):
    for operator in operators:
        inputs = [x.detach().requires_grad_() for x in inputs]
        out = operator(*inputs)
        grad = torch.linspace(-1, 1, out.numel()).view_as(out).to(out)
        yield [out, *torch.autograd.grad(out, inputs, grad)]


@pytest.mark.parametrize(('dtype', 'tolerance'), PRECISIONS)
@pytest.mark.parametrize('size', SIZES)
@pytest.mark.parametrize('kernel_size', [1, 3, 7])
class TestEqualsReference:
    def test_linear(self, size, kernel_size, dtype, tolerance):
        taps = kernel_size**2
        shapes = (2, 5, *size), (taps, 5), (taps, 5), (taps, 5, 3)
        inputs = [torch.randn(shape, dtype=dtype) for shape in shapes]
        pair = results((footprint_linear, footprint_linear_unfold), inputs)
        for got, wanted in zip(*pair, strict=True):
            torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)

    def test_sum(self, size, kernel_size, dtype, tolerance):
        taps = kernel_size**2
        shapes = (2, 4, *size), (taps, 4, 3), (taps, 3), (2, 6, *size)
        inputs = [torch.randn(shape, dtype=dtype) for shape in shapes]
        pair = results((footprint_sum, footprint_sum_unfold), inputs)
        for got, wanted in zip(*pair, strict=True):
            torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)

    def test_moments(self, size, kernel_size, dtype, tolerance):
        x = torch.randn(2, 5, *size, dtype=dtype)
        mean, var = footprint_moments(x, kernel_size)
        near = footprint_unfold(x, kernel_size)
        wanted = near.var((0, 3, 4), correction=0), near.mean((0, 3, 4))
        torch.testing.assert_close((var, mean), wanted, rtol=tolerance, atol=tolerance)


def test_neighbours_are_where_they_should_be():
    """One neighbour at a time: tap (0, 1) of 3×3 is the pixel above."""
    v = torch.arange(20.0).view(1, 1, 4, 5)
    weight, bias = torch.zeros(9, 1, 1), torch.zeros(9, 1)
    bias[1] = 1
    out = footprint_sum(torch.zeros(1, 1, 4, 5), weight, bias, v)
    assert torch.equal(out[:, :, 1:], v[:, :, :-1])
    assert torch.equal(out[:, :, 0], v[:, :, 1])


@pytest.mark.parametrize(
    ('taps', 'groups', 'text'),
    [
        (8, 2, 'a footprint has k² neighbours, got 8'),
        (4, 2, 'kernel_size must be odd'),
        (9, 4, '4 weights do not divide 6 channels'),
    ],
)
def test_mistakes_are_named(taps, groups, text):
    h, v = torch.zeros(1, 2, 3, 3), torch.zeros(1, 6, 3, 3)
    with pytest.raises(ValueError, match=text):
        footprint_sum(h, torch.zeros(taps, 2, groups), torch.zeros(taps, groups), v)
