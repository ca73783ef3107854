import pytest
import torch
from torch import nn

from mmcasvit import CASViT
from mmcasvit.layers import (
    AdditiveTokenMixer,
    MultiHeadSelfAttention,
    SeparableSelfAttention,
    SwiftAttention,
)
from mmcasvit.registry import TOKEN_MIXERS, build_from

MIXERS = {
    'AdditiveTokenMixer': {},
    'MultiHeadSelfAttention': dict(num_heads=2),
    'SeparableSelfAttention': {},
    'SwiftAttention': {},
}


def build(name, dim=16):
    torch.manual_seed(0)
    return build_from(TOKEN_MIXERS, dict(type=name, **MIXERS[name]), dim=dim)


@pytest.mark.parametrize('name', sorted(MIXERS))
class TestContract:
    @pytest.mark.parametrize('size', [(1, 1), (1, 9), (13, 20)])
    def test_keeps_shape(self, name, size):
        x = torch.randn(2, 16, *size)
        assert build(name).eval()(x).shape == x.shape

    def test_every_parameter_has_a_gradient(self, name):
        mixer = build(name)
        mixer(torch.randn(2, 16, 7, 5)).square().sum().backward()
        assert [n for n, p in mixer.named_parameters() if p.grad is None] == []

    def test_samples_do_not_mix(self, name):
        mixer = build(name).eval()
        x = torch.randn(3, 16, 6, 5)
        alone = torch.cat([mixer(sample[None]) for sample in x])
        torch.testing.assert_close(mixer(x), alone)

    def test_all_registered_are_tested(self, name):
        assert set(TOKEN_MIXERS.module_dict) == set(MIXERS)


def test_additive_mixer_is_the_formula():
    """Every term computed by hand: gates as products, convolutions as sums."""
    dim, h, w = 4, 5, 6
    mixer = AdditiveTokenMixer(dim).double().eval()
    for phi in (mixer.phi_q, mixer.phi_k):
        torch.nn.init.uniform_(phi.spatial.norm.running_mean, -0.3, 0.3)
        torch.nn.init.uniform_(phi.spatial.norm.running_var, 0.5, 2)
    x = torch.randn(1, dim, h, w, dtype=torch.double)

    def depthwise(conv, y):
        padded = torch.zeros(1, dim, h + 2, w + 2, dtype=y.dtype)
        padded[..., 1:-1, 1:-1] = y
        total = conv.bias[:, None, None].expand(1, dim, h, w).clone()
        for i in range(3):
            for j in range(3):
                tap = conv.weight[:, 0, i, j][:, None, None]
                total = total + tap * padded[..., i : i + h, j : j + w]
        return total

    def phi(module, y):
        norm = module.spatial.norm
        z = depthwise(module.spatial.dw, y)
        z = (z - norm.running_mean[:, None, None]) / torch.sqrt(
            norm.running_var + norm.eps
        )[:, None, None]
        z = z * norm.weight[:, None, None] + norm.bias[:, None, None]
        score = torch.einsum(
            'c,bchw->bhw', module.spatial.score.weight[0, :, 0, 0], z.clamp(min=0)
        )
        y = y / (1 + torch.exp(-score))[:, None]
        pooled = y.sum((2, 3)) / (h * w)
        weight = module.channel.score.weight[:, :, 0, 0]
        gate = 1 / (1 + torch.exp(-pooled @ weight.T))
        return y * gate[..., None, None]

    projected = torch.einsum('oc,bchw->bohw', mixer.qkv.weight[:, :, 0, 0], x)
    q, k, v = projected[:, :dim], projected[:, dim : 2 * dim], projected[:, 2 * dim :]
    summed = phi(mixer.phi_q, q) + phi(mixer.phi_k, k)
    wanted = depthwise(mixer.proj, depthwise(mixer.ctx, summed) * v)
    torch.testing.assert_close(mixer(x), wanted, rtol=1e-10, atol=1e-12)


def copy_into(theirs, **ours):
    """Fill their parameters, by attribute path, with ours, whatever the shape."""
    for path, tensors in ours.items():
        parameter = theirs.get_parameter(path.replace('__', '.'))
        joined = (
            torch.cat([t.flatten(1) for t in tensors])
            if len(tensors) > 1
            else (tensors[0])
        )
        parameter.data.copy_(joined.reshape(parameter.shape))


@pytest.mark.parametrize('size', [(1, 1), (3, 7), (13, 20)])
class TestAgainstOthers:
    """The comparators, against independent implementations of the same papers."""

    def test_self_attention(self, size):
        mixer = MultiHeadSelfAttention(12, num_heads=3).double()
        theirs = nn.MultiheadAttention(12, 3, batch_first=True).double()
        copy_into(
            theirs,
            in_proj_weight=[mixer.qkv.weight],
            in_proj_bias=[mixer.qkv.bias],
            out_proj__weight=[mixer.proj.weight],
            out_proj__bias=[mixer.proj.bias],
        )
        x = torch.randn(2, 12, *size, dtype=torch.float64)
        tokens = x.flatten(2).transpose(1, 2)
        wanted, _ = theirs(tokens, tokens, tokens)
        torch.testing.assert_close(mixer(x).flatten(2).transpose(1, 2), wanted)

    def test_separable(self, size):
        timm = pytest.importorskip('timm.models.mobilevit')
        mixer = SeparableSelfAttention(12).double()
        theirs = timm.LinearSelfAttention(12).double()
        parts = (mixer.score, mixer.key, mixer.value)
        copy_into(
            theirs,
            qkv_proj__weight=[conv.weight for conv in parts],
            qkv_proj__bias=[conv.bias[:, None] for conv in parts],
            out_proj__weight=[mixer.proj.weight],
            out_proj__bias=[mixer.proj.bias],
        )
        x = torch.randn(2, 12, *size, dtype=torch.float64)
        wanted = theirs(x.flatten(2)[:, :, None])[:, :, 0]
        torch.testing.assert_close(mixer(x).flatten(2), wanted)

    def test_swift(self, size):
        timm = pytest.importorskip('timm.models.swiftformer')
        mixer = SwiftAttention(12).double()
        theirs = timm.EfficientAdditiveAttention(12, 12).double()
        pairs = dict(to_query='query', to_key='key', proj='mix', final='proj')
        for their_name, our_name in pairs.items():
            conv = getattr(mixer, our_name)
            weight = {f'{their_name}__weight': [conv.weight]}
            copy_into(theirs, **weight, **{f'{their_name}__bias': [conv.bias]})
        copy_into(theirs, w_g=[mixer.score])
        x = torch.randn(2, 12, *size, dtype=torch.float64)
        torch.testing.assert_close(mixer(x), theirs(x))


def test_heads_must_divide():
    with pytest.raises(ValueError, match='12 channels do not split into num_heads=5'):
        MultiHeadSelfAttention(12, num_heads=5)


@pytest.mark.parametrize('name', sorted(MIXERS))
def test_in_casvits_place(name):
    arch = dict(embed_dims=[8, 12, 16, 20], depths=[1, 1, 1, 1])
    model = CASViT(arch, token_mixer=dict(type=name, **MIXERS[name]))
    pyramid = model(torch.randn(2, 3, 33, 50))
    assert [o.shape[1:] for o in pyramid] == [
        (8, 9, 13),
        (12, 5, 7),
        (16, 3, 4),
        (20, 2, 2),
    ]
    sum(o.square().mean() for o in pyramid).backward()
    assert [n for n, p in model.named_parameters() if p.grad is None] == []


def test_unknown_mixer_is_named():
    with pytest.raises(ValueError, match=r"'Mix' is unknown; known are \['Additive"):
        build_from(TOKEN_MIXERS, dict(type='Mix'), dim=8)
