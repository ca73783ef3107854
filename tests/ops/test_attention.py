import numpy as np
import pytest
import torch

from mmcasvit.ops import local_attention
from mmcasvit.ops.fold import Tiles, mirror
from mmcasvit.ops.reference import (
    local_attention_loop,
    local_attention_unfold,
    pad_reflect,
)

SIZES = [(1, 1), (1, 9), (3, 6), (13, 20), (31, 45)]


def inputs(size, channels=12, batch=2, dtype=torch.float32):
    shape = (batch, channels, *size)
    return [torch.randn(shape, dtype=dtype).requires_grad_() for _ in range(3)]


def assert_equal_with_gradients(got, wanted, maps, forward, backward):
    scale = wanted.abs().max()
    assert (got - wanted).abs().max() <= forward * scale
    grad = torch.randn_like(wanted)
    ours = torch.autograd.grad(got, maps, grad)
    theirs = torch.autograd.grad(wanted, maps, grad)
    for a, b in zip(ours, theirs, strict=True):
        assert (a - b).abs().max() <= backward * max(b.abs().max(), 1)


@pytest.mark.parametrize('kernel_size', [1, 3, 5, 7])
@pytest.mark.parametrize('stride', [1, 2, 3])
@pytest.mark.parametrize('dilation', [1, 2])
@pytest.mark.parametrize('size', SIZES)
class TestAgainstReference:
    def test_float32(self, size, dilation, stride, kernel_size):
        q, k, v = maps = inputs(size)
        got = local_attention(q, k, v, 3, kernel_size, stride, dilation)
        wanted = local_attention_unfold(q, k, v, 3, kernel_size, stride, dilation)
        assert got.shape[2:] == tuple(-(-side // stride) for side in size)
        assert_equal_with_gradients(got, wanted, maps, 1e-5, 1e-4)

    def test_float64(self, size, dilation, stride, kernel_size):
        q, k, v = maps = inputs(size, dtype=torch.float64)
        got = local_attention(q, k, v, 3, kernel_size, stride, dilation)
        wanted = local_attention_unfold(q, k, v, 3, kernel_size, stride, dilation)
        assert_equal_with_gradients(got, wanted, maps, 1e-10, 1e-10)


@pytest.mark.parametrize(('stride', 'dilation'), [(1, 1), (2, 1), (1, 2), (3, 2)])
@pytest.mark.parametrize('size', [(1, 5), (4, 7), (9, 6)])
def test_textbook_forms_agree(size, stride, dilation):
    q, k, v = inputs(size, dtype=torch.float64)
    loop = local_attention_loop(q, k, v, 4, 5, stride, dilation)
    unfold = local_attention_unfold(q, k, v, 4, 5, stride, dilation)
    torch.testing.assert_close(loop, unfold, rtol=0, atol=1e-12)


def test_position_encoding_is_a_shift_of_the_keys():
    q, k, v = inputs((9, 11), channels=8, dtype=torch.float64)
    pe = torch.randn(1, 4, 9, 11, dtype=torch.float64)
    wanted = local_attention_unfold(q, k, v, 2, 7, stride=2, pe=pe)
    got = local_attention(q, k - pe.repeat(1, 2, 1, 1), v, 2, 7, stride=2)
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(('side', 'pad'), [(1, 3), (2, 5), (4, 9), (7, 3)])
def test_padding_is_numpys(side, pad):
    row = np.arange(side)
    wanted = np.pad(row, pad, mode='reflect')
    assert [mirror(p, side) for p in range(-pad, side + pad)] == wanted.tolist()
    x = torch.arange(side * 5.0).view(1, 1, side, 5)
    padded = np.pad(x[0, 0].numpy(), pad, mode='reflect')
    assert np.array_equal(pad_reflect(x, pad)[0, 0].numpy(), padded)


def test_chunks_do_not_change_the_result(monkeypatch):
    from mmcasvit.ops import attention

    q, k, v = inputs((21, 30), channels=8)
    whole = local_attention(q, k, v, 2)
    monkeypatch.setitem(attention._CHUNK_ELEMENTS, 'cpu', 1)
    assert len(list(Tiles((21, 30), 7, 1, 1, 4).chunks(1, 4, 4))) == 6
    rows = local_attention(q, k, v, 2)
    torch.testing.assert_close(whole, rows, rtol=0, atol=1e-6)


@pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    q, k, v = inputs((13, 20), channels=16)
    q = q * 8  # peaked weights, which half precision sums would lose
    wanted = local_attention(q, k, v, 2)
    halves = [x.to(dtype).detach().requires_grad_() for x in (q, k, v)]
    got = local_attention(*halves, 2)
    assert got.dtype == dtype
    exact = local_attention(*(x.float() for x in halves), 2)
    assert (got - exact).abs().max() < 2 * torch.finfo(dtype).eps * exact.abs().max()
    got.float().square().sum().backward()
    assert all(x.grad.isfinite().all() and x.grad.abs().max() > 0 for x in halves)
    assert wanted.isfinite().all()


def test_gradcheck():
    maps = inputs((5, 6), channels=4, batch=1, dtype=torch.float64)
    torch.autograd.gradcheck(
        lambda q, k, v: local_attention(q, k, v, 2, 3, stride=2), maps
    )


def test_meta_and_channels_last():
    q = torch.empty(2, 8, 9, 11, device='meta')
    assert local_attention(q, q, q, 2, stride=2).shape == (2, 8, 5, 6)
    q, k, v = (x.detach() for x in inputs((9, 11), channels=8))
    last = [x.contiguous(memory_format=torch.channels_last) for x in (q, k, v)]
    out = local_attention(*last, 2)
    assert out.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(out, local_attention(q, k, v, 2))


def test_frozen_keys_get_no_gradient():
    q, k, v = inputs((6, 7))
    k.requires_grad_(False)
    local_attention(q, k, v, 3).sum().backward()
    assert k.grad is None
    assert q.grad is not None
    assert v.grad is not None


@pytest.mark.parametrize(
    ('change', 'error', 'text'),
    [
        (dict(num_heads=5), ValueError, '12 channels .* num_heads=5; .* is 4'),
        (dict(kernel_size=4), ValueError, 'kernel_size must be odd.*take 3 or 5'),
        (dict(stride=0), ValueError, 'stride must be an integer of at least 1, got 0'),
        (dict(dilation=1.5), ValueError, 'dilation .* got 1.5'),
        (dict(k=torch.zeros(2, 12, 6, 8)), ValueError, r'k must have the shape of q'),
        (dict(v=torch.zeros(2, 12, 6, 7).double()), TypeError, r'v.to\(q\)'),
        (dict(q=torch.zeros(12, 6, 7)), ValueError, r'q must be \(B, C, H, W\)'),
    ],
)
def test_mistakes_are_named(change, error, text):
    q, k, v = inputs((6, 7))
    with pytest.raises(error, match=text):
        local_attention(**(dict(q=q, k=k, v=v, num_heads=3) | change))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a GPU')
@pytest.mark.parametrize('dtype', [torch.float32, torch.float16, torch.bfloat16])
def test_cuda(dtype):
    maps = [x.detach() for x in inputs((31, 45), channels=16)]
    wanted = local_attention(*maps, 2)
    there = [x.cuda().to(dtype).requires_grad_() for x in maps]
    got = local_attention(*there, 2)
    tolerance = 8 * max(torch.finfo(dtype).eps, 1e-6)
    assert (got.cpu() - wanted).abs().max() < tolerance * wanted.abs().max()
    got.float().square().sum().backward()
    assert all(x.grad.isfinite().all() for x in there)
