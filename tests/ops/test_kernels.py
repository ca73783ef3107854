import sys
import types
import warnings
from unittest.mock import Mock

import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention.flex_attention import (
    create_block_mask,
    create_mask,
    flex_attention,
)

from mmcasvit.ops import choice, kernels, local_attention
from mmcasvit.ops.fold import Tiles
from mmcasvit.ops.reference import local_attention_unfold

SIZES = [(1, 1), (1, 9), (3, 6), (13, 20), (25, 35)]


def inputs(size, channels=16, dtype=torch.float64):
    shape = (2, channels, *size)
    return [torch.randn(shape, dtype=dtype).requires_grad_() for _ in range(3)]


def dense(q, k, v, block_mask):
    """What FlexAttention computes; its kernels have no gradients on a CPU."""
    lengths = block_mask.seq_lengths
    mask = create_mask(block_mask.mask_mod, 1, 1, *lengths, device='cpu')
    return F.scaled_dot_product_attention(q, k, v, mask)


@pytest.mark.parametrize('size', SIZES)
@pytest.mark.parametrize(
    ('kernel_size', 'stride', 'dilation'),
    [(1, 1, 1), (3, 1, 1), (7, 1, 1), (7, 2, 1), (5, 3, 1), (3, 1, 2), (7, 2, 2)],
)
class TestFlexAttention:
    def test_forward(self, kernel_size, stride, dilation, size, monkeypatch):
        monkeypatch.setattr(kernels, '_flex_attention', lambda: flex_attention)
        q, k, v = (x.detach() for x in inputs(size))
        window = kernel_size, stride, dilation
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # that it is not compiled
            got = local_attention(q, k, v, 2, *window, implementation='flex')
        wanted = local_attention_unfold(q, k, v, 2, *window)
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-10)

    def test_gradients(self, kernel_size, stride, dilation, size, monkeypatch):
        monkeypatch.setattr(kernels, '_flex_attention', lambda: dense)
        q, k, v = maps = inputs(size)
        window = kernel_size, stride, dilation
        got = local_attention(q, k, v, 2, *window, implementation='flex')
        wanted = local_attention_unfold(q, k, v, 2, *window)
        grad = torch.randn_like(wanted)
        ours, theirs = (torch.autograd.grad(out, maps, grad) for out in (got, wanted))
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-10)

    def test_blocks_are_those_that_meet(self, kernel_size, stride, dilation, size):
        tiles = Tiles(size, kernel_size, stride, dilation, side=1)
        mask = kernels._block_mask(tiles, torch.device('cpu'))
        searched = create_block_mask(
            mask.mask_mod, None, None, *mask.seq_lengths, device='cpu'
        )
        assert torch.equal(mask.to_dense(), searched.to_dense())


def na2d(query, key, value, kernel_size):
    """Textbook neighbourhood attention: border windows move inwards. (B, H, W, N, D)"""
    _, height, width, _, dim = query.shape
    out = torch.empty_like(query)
    for y in range(height):
        for x in range(width):
            top = min(max(y - kernel_size // 2, 0), height - kernel_size)
            left = min(max(x - kernel_size // 2, 0), width - kernel_size)
            rows, cols = (slice(i, i + kernel_size) for i in (top, left))
            keys, values = (m[:, rows, cols].flatten(1, 2) for m in (key, value))
            scores = torch.einsum('bnd,bknd->bkn', query[:, y, x], keys) / dim**0.5
            out[:, y, x] = torch.einsum('bkn,bknd->bnd', scores.softmax(1), values)
    return out


@pytest.mark.parametrize('size', [(1, 1), (1, 9), (3, 6), (9, 7)])
@pytest.mark.parametrize('kernel_size', [3, 7])
def test_natten(size, kernel_size, monkeypatch):
    monkeypatch.setattr('mmcasvit.ops.attention._NATTEN', True)
    monkeypatch.setitem(sys.modules, 'natten', types.SimpleNamespace(na2d=na2d))
    q, k, v = maps = inputs(size)
    got = local_attention(q, k, v, 2, kernel_size, implementation='natten')
    wanted = local_attention_unfold(q, k, v, 2, kernel_size)
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-10)
    grad = torch.randn_like(wanted)
    ours, theirs = (torch.autograd.grad(out, maps, grad) for out in (got, wanted))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="one of .'tiles', 'flex'., got 'natten'"):
        local_attention(q, k, v, 2, kernel_size, stride=2, implementation='natten')


class TestChoice:
    @pytest.fixture(autouse=True)
    def _forget(self, monkeypatch):
        monkeypatch.setattr(choice, '_CHOSEN', {})

    def on_gpu(self, dtype=torch.float16, requires_grad=False):
        return Mock(
            is_cuda=True, device='cuda:0', dtype=dtype, requires_grad=requires_grad
        )

    def test_the_first_without_a_trial(self, monkeypatch):
        named = dict(a=torch.add, b=torch.mul)
        monkeypatch.setattr(choice, 'trial_times', None)
        monkeypatch.setattr(torch.backends.cudnn, 'benchmark', True)
        assert choice.fastest(named, (torch.ones(1),), (2,), 'a layer') == 'a'
        monkeypatch.setattr(torch.backends.cudnn, 'benchmark', False)
        assert choice.fastest(named, (self.on_gpu(),), (2,), 'a layer') == 'a'

    def test_one_trial_for_a_kind_of_call(self, monkeypatch):
        trials = []

        def trial_times(implementations, maps, arguments, learns):
            trials.append((maps[0].dtype, learns))
            return dict(a=2.0, b=1.0)

        monkeypatch.setattr(choice, 'trial_times', trial_times)
        monkeypatch.setattr(torch.backends.cudnn, 'benchmark', True)
        named = dict(a=torch.add, b=torch.mul)
        for _ in range(2):
            for key in ('a layer', 'another'):
                assert choice.fastest(named, (self.on_gpu(),), (), key) == 'b'
        assert len(trials) == 2
        choice.fastest(named, (self.on_gpu(torch.float32),), (), 'a layer')
        choice.fastest(named, (self.on_gpu(requires_grad=True),), (), 'a layer')
        with torch.no_grad():
            choice.fastest(named, (self.on_gpu(requires_grad=True),), (), 'a layer')
        assert trials[2:] == [(torch.float32, False), (torch.float16, True)]

    def test_a_trial_runs_the_backward_pass_and_leaves_out_failures(self):
        backward = []

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, grad):
                backward.append(grad)
                return 2 * grad

        def broken(x):
            raise NotImplementedError('no gradients here\nand more')

        x = torch.ones(3, requires_grad=True)
        named = dict(double=Double.apply, broken=broken)
        with pytest.warns(match='broken is left out .* no gradients here$'):
            times = choice.trial_times(named, (x,), (), learns=True)
        assert times.keys() == {'double'}
        assert times['double'] > 0
        assert len(backward) >= 5
        assert x.grad is None
        count = len(backward)
        choice.trial_times(dict(double=Double.apply), (x,), (), learns=False)
        assert len(backward) == count


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a GPU')
@pytest.mark.parametrize('dtype', [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize('size', [(31, 45), (50, 84)])
def test_cuda(dtype, size):
    maps = [x.detach().cuda().to(dtype).requires_grad_() for x in inputs(size, 64)]
    wanted = local_attention(*maps, 2, implementation='tiles')
    got = local_attention(*maps, 2, implementation='flex')
    tolerance = 8 * max(torch.finfo(dtype).eps, 1e-6)
    assert (got - wanted).abs().max() < tolerance * wanted.abs().max()
    grad = torch.randn_like(wanted)
    ours, theirs = (torch.autograd.grad(out, maps, grad) for out in (got, wanted))
    for a, b in zip(ours, theirs, strict=True):
        assert (a - b).abs().max() < tolerance * b.abs().max()
