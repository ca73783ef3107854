import pytest
import torch

from mmcasvit.layers import AdditiveTokenMixer
from mmcasvit.registry import TOKEN_MIXERS, build_token_mixer

MIXERS = {'AdditiveTokenMixer': {}}


def build(name, dim=16):
    torch.manual_seed(0)
    return build_token_mixer(dict(type=name, **MIXERS[name]), dim=dim)


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


def test_unknown_mixer_is_named():
    with pytest.raises(ValueError, match=r"'Mix' is unknown; known are \['Additive"):
        build_token_mixer(dict(type='Mix'), dim=8)
