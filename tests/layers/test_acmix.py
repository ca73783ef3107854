import copy

import pytest
import torch
from fill import fill_input, fill_tensor
from mmcv.cnn import build_conv_layer
from mmengine.model import BaseModule
from torch import nn

from mmcasvit import ACmix
from mmcasvit.ops import grouped_shift_weight
from mmcasvit.ops.reference import acmix_unfold

PARTS = {
    'rate1': 'alpha',
    'rate2': 'beta',
    'conv1': 'q',
    'conv2': 'k',
    'conv3': 'v',
    'conv_p': 'attention.position',
    'fc': 'fc',
    'dep_conv': 'shift',
}


def sliding(kernel_size):
    return dict(type='SlidingWindowAttention', kernel_size=kernel_size)


def ours(key):
    part, _, leaf = key.partition('.')
    return '.'.join(filter(None, (PARTS[part], leaf)))


def randomised(**kwargs):
    """A layer whose shift kernels, scales and biases are off their start."""
    torch.manual_seed(0)
    layer = ACmix(**kwargs)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.4)
    return layer


def textbook(layer, x):
    return acmix_unfold(
        x,
        dict(layer.named_parameters()),
        layer.num_heads,
        layer.attention.kernel_size,
        layer.stride,
        layer.dilation,
    )


class TestGolden:
    """Against what the release computes for the same weights and inputs."""

    @pytest.mark.parametrize('index', range(5))
    @pytest.mark.parametrize('form', ['as chosen', 'composed', 'grouped', 'textbook'])
    def test_case(self, acmix_golden, index, form, monkeypatch):
        arrays, keys = acmix_golden
        case = keys['cases'][index]
        layer = ACmix(
            case['in_channels'],
            case['out_channels'],
            case['conv_kernel_size'],
            case['stride'],
            num_heads=case['num_heads'],
            attention=sliding(case['attn_kernel_size']),
        )
        state = {ours(k): fill_tensor(k, shape) for k, shape in case['keys'].items()}
        layer.load_state_dict(state, strict=True)
        if form in ('composed', 'grouped'):
            monkeypatch.setattr(ACmix, 'composes', form == 'composed')
        size = case['height'], case['width']
        x = fill_input((2, case['in_channels'], *size), seed=index).requires_grad_()
        out = textbook(layer, x) if form == 'textbook' else layer(x)
        out.backward(fill_input(out.shape, seed=100 + index))

        for name, got in (('out', out.detach()), ('grad_input', x.grad)):
            wanted = torch.from_numpy(arrays[f'acmix_{index}_{name}'])
            got = got[:, :: case[f'{name}_step']]
            assert (got - wanted).abs().max() < 1e-5
        parameters = dict(layer.named_parameters())
        for key, wanted in case['grad_norms'].items():
            # Softmax cancels the position's bias: its gradient is rounding noise.
            assert parameters[ours(key)].grad.norm().item() == pytest.approx(
                wanted, rel=1e-4, abs=2e-6
            ), key


@pytest.mark.parametrize('composes', [True, False])
@pytest.mark.parametrize('kernel_size', [1, 3, 5])
@pytest.mark.parametrize('stride', [1, 2, 3])
@pytest.mark.parametrize('dilation', [1, 2])
@pytest.mark.parametrize('size', [(1, 1), (1, 9), (3, 6), (13, 20)])
def test_equals_textbook(size, dilation, stride, kernel_size, composes, monkeypatch):
    monkeypatch.setattr(ACmix, 'composes', composes)
    layer = randomised(
        in_channels=5,
        out_channels=6,
        kernel_size=kernel_size,
        stride=stride,
        dilation=dilation,
        num_heads=3,
        attention=sliding(5),
        bias=True,
    ).double()
    x = torch.randn(2, 5, *size, dtype=torch.float64, requires_grad=True)
    results = []
    for out in (layer(x), textbook(layer, x)):
        assert out.shape == (2, 6, *(-(-side // stride) for side in size))
        out.square().sum().backward()
        grads = [p.grad.clone() for p in layer.parameters()]
        results.append([out.detach(), x.grad.clone(), *grads])
        layer.zero_grad()
        x.grad = None
    for got, wanted in zip(*results, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-9)


class TestStart:
    @pytest.mark.parametrize('kernel_size', [1, 3, 5])
    def test_shifts(self, kernel_size):
        layer = ACmix(8, 12, kernel_size)
        assert torch.equal(layer.shift.weight, grouped_shift_weight(3, kernel_size, 4))
        assert layer.alpha.item() == layer.beta.item() == 0.5

    @pytest.mark.parametrize('kind', ['Kaiming', 'Xavier', 'Normal', 'TruncNormal'])
    def test_survives_the_initialisation_of_a_model_around_it(self, kind):
        class Model(BaseModule):
            def __init__(self):
                super().__init__(init_cfg=dict(type=kind, layer=['Conv2d', 'Linear']))
                self.layer = ACmix(8, 12)

        model = Model()
        before = model.layer.q.weight.clone()
        model.init_weights()
        assert not torch.equal(model.layer.q.weight, before)
        assert torch.equal(model.layer.shift.weight, grouped_shift_weight(3, 3, 4))

    def test_survives_loops_over_convolutions(self):
        layer = ACmix(8, 12)
        for module in layer.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
        assert torch.equal(layer.shift.weight, grouped_shift_weight(3, 3, 4))


class TestShiftForms:
    """All but the random start compute the same before anything is learned."""

    @pytest.mark.parametrize('in_channels', [8, 300])
    @pytest.mark.parametrize('form', ['shared', 'fixed'])
    def test_starts_equal(self, form, in_channels):
        layer, learned = ACmix(in_channels, 12, shift=form), ACmix(in_channels, 12)
        state = learned.state_dict()
        state['shift.weight'] = layer.shift.weight
        layer.load_state_dict(state, strict=True)
        x = torch.randn(2, in_channels, 6, 7)
        torch.testing.assert_close(layer(x), learned(x))

    @pytest.mark.parametrize(
        ('form', 'learns', 'kernels'),
        [('learned', True, 12), ('shared', True, 3), ('fixed', False, 3)],
    )
    def test_what_is_learned(self, form, learns, kernels):
        layer = ACmix(8, 12, shift=form)
        assert ('shift.weight' in dict(layer.named_parameters())) is learns
        assert len(layer.shift.weight) == kernels
        layer(torch.randn(1, 8, 5, 5)).square().sum().backward()
        assert [n for n, p in layer.named_parameters() if p.grad is None] == []

    def test_one_kernel_for_all_heads(self):
        layer = ACmix(8, 12, shift='shared', alpha=0.0, learn_scales=False)
        nn.init.normal_(layer.shift.weight)
        position = layer(torch.randn(1, 8, 5, 5)).unflatten(1, (3, 4))
        torch.testing.assert_close(position, position[:, :, :1].expand_as(position))

    def test_random(self):
        layer = ACmix(8, 12, shift='random')
        fan_in = 9 * 9
        assert layer.shift.weight.shape == (12, 9, 3, 3)
        assert layer.shift.weight.abs().max() <= fan_in**-0.5
        assert layer.shift.weight.std() > 0.3 * fan_in**-0.5

    def test_unknown(self):
        with pytest.raises(ValueError, match="'learned', .* got 'frozen'"):
            ACmix(8, 12, shift='frozen')


class TestSinglePaths:
    @pytest.mark.parametrize(
        ('alpha', 'beta', 'missing'),
        [(0.0, 1.0, {'attention', 'alpha'}), (1.0, 0.0, {'fc', 'shift', 'beta'})],
    )
    @pytest.mark.parametrize('in_channels', [8, 300])
    def test_fixed_zero(self, alpha, beta, missing, in_channels):
        torch.manual_seed(0)
        layer = ACmix(in_channels, 8, alpha=alpha, beta=beta, learn_scales=False)
        names = {name.split('.')[0] for name in layer.state_dict()}
        assert not names & missing
        x = torch.randn(2, in_channels, 6, 7)
        layer(x).square().sum().backward()
        assert [n for n, p in layer.named_parameters() if p.grad is None] == []
        whole = ACmix(in_channels, 8, alpha=alpha, beta=beta)
        whole.load_state_dict(layer.state_dict(), strict=False)
        torch.testing.assert_close(layer(x), whole(x), rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize('in_channels', [8, 300])
    def test_fixed_scales_are_no_parameters(self, in_channels):
        layer = ACmix(in_channels, 8, alpha=0.3, beta=0.8, learn_scales=False)
        assert not {'alpha', 'beta'} & dict(layer.named_parameters()).keys()
        assert {'alpha', 'beta'} <= layer.state_dict().keys()
        twin = ACmix(in_channels, 8)
        twin.load_state_dict(layer.state_dict(), strict=True)
        x = torch.randn(1, in_channels, 5, 5)
        torch.testing.assert_close(layer(x), twin(x))


@pytest.mark.parametrize('in_channels', [8, 300])
@pytest.mark.parametrize('bias', [False, True])
@pytest.mark.parametrize('stride', [1, 2])
def test_reparameterize(stride, bias, in_channels):
    layer = randomised(
        in_channels=in_channels, out_channels=8, stride=stride, bias=bias
    ).eval()
    x = torch.randn(2, in_channels, 9, 12)
    wanted = layer(x)
    assert layer.reparameterize() is layer
    assert not hasattr(layer, 'fc')
    assert 'kernel' in dict(layer.named_buffers())
    error = (layer(x) - wanted).abs().max() / wanted.abs().max()
    assert error < 1e-5
    assert torch.equal(layer.reparameterize()(x), layer(x))
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))


class TestPrecision:
    @pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize('in_channels', [8, 300])
    def test_half(self, dtype, in_channels):
        layer = ACmix(in_channels, 8)
        x = torch.randn(2, in_channels, 9, 12)
        got = copy.deepcopy(layer).to(dtype)(x.to(dtype))
        assert got.dtype == dtype
        wanted = layer(x)
        error = (got.float() - wanted).abs().max() / wanted.abs().max()
        assert error < 16 * torch.finfo(dtype).eps

    @pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize('in_channels', [8, 300])
    def test_autocast(self, dtype, in_channels):
        layer = ACmix(in_channels, 8)
        x = torch.randn(2, in_channels, 9, 12)
        wanted = layer(x)
        with torch.autocast('cpu', dtype):
            got = layer(x)
        assert got.dtype == dtype
        error = (got.float() - wanted).abs().max() / wanted.abs().max()
        assert error < 16 * torch.finfo(dtype).eps
        got.float().square().sum().backward()
        assert all(p.grad.isfinite().all() for p in layer.parameters())
        assert all(p.grad.dtype == torch.float32 for p in layer.parameters())

    def test_meta(self):
        with torch.device('meta'):
            layer = ACmix(8, 12, stride=2)
            assert layer(torch.empty(2, 8, 9, 11)).shape == (2, 12, 5, 6)


class TestAsConvolution:
    def test_builder(self):
        cfg = dict(type='ACmix', attention=sliding(3))
        layer = build_conv_layer(
            cfg, 8, 12, kernel_size=3, stride=2, padding=2, dilation=2, bias=False
        )
        assert isinstance(layer, ACmix)
        assert layer.shift.bias is None
        assert layer(torch.randn(1, 8, 7, 9)).shape == (1, 12, 4, 5)

    @pytest.mark.parametrize('kind', ['conv_cfg', 'dcn'])
    def test_in_mmdets_resnet(self, kind):
        from mmdet.models import ResNet

        args = dict(conv_cfg=dict(type='ACmix', attention=sliding(3)))
        if kind == 'dcn':
            args = dict(
                dcn=dict(type='ACmix'), stage_with_dcn=(False, False, True, True)
            )
        model = ResNet(
            50, base_channels=8, stem_channels=8, zero_init_residual=False, **args
        )
        model.init_weights()
        layers = [m for m in model.modules() if isinstance(m, ACmix)]
        assert len(layers) == (53 if kind == 'conv_cfg' else 9)
        for layer in layers:
            dim, heads = layer.out_channels // 4, 4
            wanted = grouped_shift_weight(dim, layer.kernel_size, heads)
            assert torch.equal(layer.shift.weight, wanted)
        model.train()
        pyramid = model(torch.randn(2, 3, 40, 50))
        assert [o.shape[2:] for o in pyramid] == [(10, 13), (5, 7), (3, 4), (2, 2)]
        sum(o.square().mean() for o in pyramid).backward()
        assert all(m.alpha.grad.abs() > 0 for m in layers)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        (dict(num_heads=5), '12 channels do not split into num_heads=5'),
        (dict(kernel_size=2), 'kernel_size must be odd'),
        (
            dict(attention=sliding(6)),
            'kernel_size of the attention must be odd.*take 5',
        ),
        (dict(padding=0), r'padding must be None or .* = 1, got 0'),
        (dict(groups=2), 'groups must be 1'),
        (dict(stride=0), 'stride must be an integer'),
        (dict(alpha=0, beta=0, learn_scales=False), 'no path is left'),
    ],
)
def test_mistakes_are_named(change, text):
    with pytest.raises(ValueError, match=text):
        ACmix(8, 12, **change)
