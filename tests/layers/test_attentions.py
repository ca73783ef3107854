"""What every attention path of ACmix promises, and that ACmix takes each."""

import copy

import pytest
import torch

from mmcasvit import ACmix
from mmcasvit.layers import WindowAttention
from mmcasvit.ops.reference import (
    footprint_linear_unfold,
    footprint_sum_unfold,
    footprint_unfold,
)
from mmcasvit.registry import ACMIX_ATTENTIONS

PATHS = {
    'SlidingWindowAttention': dict(kernel_size=5),
    'PatchwiseAttention': dict(kernel_size=3, share=4),
    'WindowAttention': dict(window_size=4, shift=2),
    'SpatialReductionAttention': dict(reduction=2),
}


def build(name, **kwargs):
    torch.manual_seed(0)
    attention = dict(type=name, **PATHS[name])
    layer = ACmix(8, 8, num_heads=2, attention=attention, **kwargs)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return layer


def test_all_are_tested():
    assert set(PATHS) == set(ACMIX_ATTENTIONS.module_dict)


@pytest.mark.parametrize('name', sorted(PATHS))
class TestContract:
    @pytest.mark.parametrize('size', [(1, 1), (1, 9), (3, 6), (13, 20)])
    def test_any_size(self, name, size):
        layer = build(name).train()
        x = torch.randn(3, 8, *size, requires_grad=True)
        out = layer(x)
        assert out.shape == x.shape
        out.square().sum().backward()
        assert x.grad.isfinite().all()
        assert [n for n, p in layer.named_parameters() if p.grad is None] == []

    @pytest.mark.parametrize('composes', [True, False])
    def test_is_the_sum_of_its_paths(self, name, composes, monkeypatch):
        monkeypatch.setattr(ACmix, 'composes', composes)
        layer = build(name, fc_bias=True).eval().double()
        x = torch.randn(2, 8, 9, 10, dtype=torch.float64)
        source = layer.attention.reduce(x)
        q, k, v = layer.q(x), layer.k(source), layer.v(source)
        attention = layer.attention(q, k, v)
        wanted = layer.alpha * attention + layer.shift_and_sum(x, (q, k, v))
        torch.testing.assert_close(layer(x), wanted, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16, torch.float64])
    def test_dtypes(self, name, dtype):
        layer = build(name).eval()
        x = torch.randn(2, 8, 9, 10)
        with torch.no_grad():
            wanted, got = layer(x), copy.deepcopy(layer).to(dtype)(x.to(dtype))
        assert got.dtype == dtype
        error = (got.float() - wanted).abs().max() / wanted.abs().max()
        assert error < max(16 * torch.finfo(dtype).eps, 1e-5)

    def test_autocast(self, name):
        layer = build(name).train()
        with torch.autocast('cpu', torch.bfloat16):
            out = layer(torch.randn(2, 8, 9, 10))
        assert out.dtype == torch.bfloat16
        out.float().square().sum().backward()
        assert all(p.grad.isfinite().all() for p in layer.parameters())

    def test_reparameterize(self, name):
        layer = build(name, fc_bias=True).eval()
        x = torch.randn(2, 8, 9, 10)
        wanted = layer(x)
        error = (layer.reparameterize()(x) - wanted).abs().max() / wanted.abs().max()
        assert error < 1e-5

    def test_meta(self, name):
        with torch.device('meta'):
            layer = ACmix(8, 8, num_heads=2, attention=dict(type=name, **PATHS[name]))
            assert layer(torch.empty(2, 8, 9, 10)).shape == (2, 8, 9, 10)

    def test_stride_or_the_reason_why_not(self, name):
        attention = dict(type=name, **PATHS[name])
        if ACMIX_ATTENTIONS.get(name).strided:
            layer = ACmix(8, 8, stride=2, num_heads=2, attention=attention)
            assert layer(torch.randn(1, 8, 9, 10)).shape == (1, 8, 5, 5)
        else:
            with pytest.raises(ValueError, match=f'{name} has no stride'):
                ACmix(8, 8, stride=2, num_heads=2, attention=attention)


@pytest.mark.parametrize(
    'name', [n for n in sorted(PATHS) if ACMIX_ATTENTIONS.get(n).linear]
)
def test_those_that_say_so_are_linear_in_v(name):
    attention = build(name).attention
    q, k, v = torch.randn(3, 2, 8, 6, 7).unbind(0)
    torch.testing.assert_close(attention(q, k, 3 * v), 3 * attention(q, k, v))


class TestPatchwise:
    """Against SAN's own layers on the unfolded footprint."""

    def layer(self):
        attention = dict(type='PatchwiseAttention', kernel_size=3, share=4)
        torch.manual_seed(0)
        return ACmix(12, 16, num_heads=4, qk_channels=4, attention=attention)

    @pytest.mark.parametrize('training', [True, False])
    def test_equals_unfolded(self, training):
        path = self.layer().attention.double().train(training)
        q, k = torch.randn(2, 2, 4, 5, 6, dtype=torch.float64).unbind(0)
        v = torch.randn(2, 16, 5, 6, dtype=torch.float64)
        twin = copy.deepcopy(path)
        got = path(q, k, v)

        footprint = torch.cat([q[:, None], footprint_unfold(k, 3)], 1).flatten(1, 2)
        normed = torch.nn.functional.batch_norm(
            footprint,
            twin.norm1.running_mean,
            twin.norm1.running_var,
            twin.norm1.weight,
            twin.norm1.bias,
            training,
            twin.norm1.momentum,
            twin.norm1.eps,
        )
        hidden = normed.relu().permute(0, 2, 3, 1) @ twin.linear1.weight.t()
        hidden = twin.norm2(hidden.permute(0, 3, 1, 2)).relu()
        weight = twin.linear2.weight.unflatten(0, (9, -1)).transpose(1, 2)
        wanted = footprint_sum_unfold(hidden, weight, twin.linear2.bias.view(9, -1), v)
        torch.testing.assert_close(got, wanted)
        for name in ('running_mean', 'running_var'):
            a, b = (getattr(m.norm1, name) for m in (path, twin))
            torch.testing.assert_close(a, b)

    def test_narrow_queries_and_keys(self):
        layer = self.layer()
        assert layer.q.out_channels == layer.k.out_channels == 4
        assert layer.num_maps == 6
        assert layer(torch.randn(1, 12, 5, 6)).shape == (1, 16, 5, 6)

    def test_others_say_that_they_need_wide_ones(self):
        with pytest.raises(ValueError, match='needs q and k of 16 channels'):
            ACmix(12, 16, num_heads=4, qk_channels=4)
        with pytest.raises(ValueError, match='multiple of out_channels/num_heads = 4'):
            ACmix(12, 16, num_heads=4, qk_channels=6)


def test_relative_positions():
    """Rows of the table by (Δy, Δx), from (−w+1, −w+1) on."""
    index = WindowAttention(4, 2, window_size=3).relative_index
    assert index[4, 4] == 12  # Δ = 0: the middle of 5×5
    assert index[0, 8] == 0  # query up left, key down right: Δ = (−2, −2)
    assert index[1, 0] == 13  # Δx = 1


def test_linear_twin_sees_the_relu():
    x, one = -torch.ones(1, 1, 2, 2), torch.ones(9, 1)
    out = footprint_linear_unfold(x, one, 0 * one, one[..., None])
    assert out.abs().max() == 0
