import pytest
import torch

from mmcasvit.ops import global_attention, rolls, window_attention
from mmcasvit.ops.reference import global_attention_whole, window_attention_masked

SIZES = [(1, 1), (1, 9), (3, 6), (7, 7), (8, 14), (13, 20)]


def maps(size, dtype, channels=6):
    shape = 2, channels, *size
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(3)]


def gradients(operator, inputs, *args):
    out = operator(*inputs[:3], *args, *inputs[3:])
    grads = torch.autograd.grad(
        out, inputs, torch.linspace(-1, 1, out.numel()).view_as(out).to(out)
    )
    return [out.detach(), *grads]


@pytest.mark.parametrize(
    ('dtype', 'tolerance'), [(torch.float64, 1e-10), (torch.float32, 1e-4)]
)
@pytest.mark.parametrize('size', SIZES)
class TestEqualsReference:
    @pytest.mark.parametrize('with_bias', [True, False])
    @pytest.mark.parametrize(('window', 'shift'), [(7, 0), (7, 3), (4, 1), (1, 0)])
    def test_window(self, size, window, shift, with_bias, dtype, tolerance):
        inputs = maps(size, dtype)
        if with_bias:
            bias = torch.randn(3, window**2, window**2, dtype=dtype)
            inputs.append(bias.requires_grad_())
        results = [
            gradients(operator, inputs, 3, window, rolls(size, window, shift))
            for operator in (window_attention, window_attention_masked)
        ]
        assert results[0][0].is_contiguous(memory_format=torch.channels_last)
        for got, wanted in zip(*results, strict=True):
            torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)

    @pytest.mark.parametrize('keys', [(1, 1), (2, 3)])
    def test_global(self, size, keys, dtype, tolerance):
        q, (k, v, _) = maps(size, dtype)[0], maps(keys, dtype)
        results = [
            gradients(operator, [q, k, v], 3)
            for operator in (global_attention, global_attention_whole)
        ]
        for got, wanted in zip(*results, strict=True):
            torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)


def test_rolled_windows_are_shifted_windows():
    """Away from the borders: the same as cutting the map 3 pixels further on."""
    q, k, v = maps((17, 17), torch.float64)
    rolled = [x.roll((-3, -3), (2, 3)) for x in (q, k, v)]
    got = window_attention(*rolled, 3, 7, (3, 3))
    wanted = window_attention(*[x[:, :, 3:, 3:] for x in (q, k, v)], 3, 7)
    torch.testing.assert_close(got[:, :, :14, :14], wanted)


def test_opposite_borders_do_not_see_each_other():
    q, k, v = maps((14, 14), torch.float64)
    rolled = [x.roll((-3, 0), (2, 3)) for x in (q, k, v)]
    out = window_attention(*rolled, 3, 7, (3, 0)).roll((3, 0), (2, 3))
    [grad] = torch.autograd.grad(out[:, :, :3].sum(), v)
    assert grad[:, :, :3].abs().min() > 0
    assert grad[:, :, 3:].abs().max() == 0


@pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
def test_half(dtype):
    inputs = [x.detach() for x in maps((9, 15), torch.float32)]
    wanted = window_attention(*inputs, 3, 7, (3, 3))
    got = window_attention(*[x.to(dtype) for x in inputs], 3, 7, (3, 3))
    assert got.dtype == dtype
    torch.testing.assert_close(got.float(), wanted, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ('args', 'text'),
    [
        ((4, 7), '6 channels do not split into num_heads=4'),
        ((3, 0), 'window_size must be an integer of at least 1'),
    ],
)
def test_mistakes_are_named(args, text):
    with pytest.raises(ValueError, match=text):
        window_attention(*maps((5, 5), torch.float32), *args)
