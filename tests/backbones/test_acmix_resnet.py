import pytest
import torch
from fill import fill_input, fill_tensor
from torch import nn

from mmcasvit import ACmix, ACmixResNet
from mmcasvit.backbones.archs import ACMIX_RESNET_ARCHS
from mmcasvit.ops import grouped_shift_weight

DEPTHS = sorted(ACMIX_RESNET_ARCHS)


def relative_error(got, wanted):
    wanted = torch.as_tensor(wanted)
    return float((got - wanted).abs().max() / wanted.abs().max())


@pytest.fixture(scope='module', params=DEPTHS)
def golden_run(request, acmix_golden):
    """(depth, arrays, pyramid) for the release's golden weights and input."""
    arrays, keys = acmix_golden
    model = ACmixResNet(request.param).eval()
    shapes = keys[f'acmix_resnet{request.param}']
    state = {key: fill_tensor(key, shape) for key, shape in shapes.items()}
    model.load_state_dict(state, strict=True)
    with torch.no_grad():
        return request.param, arrays, model(fill_input((1, 3, 128, 160)))


class TestGolden:
    """Against what the release computes for the same weights and inputs."""

    def test_statistics(self, golden_run):
        depth, arrays, pyramid = golden_run
        for i, out in enumerate(pyramid):
            name = f'acmix_resnet{depth}_{i}'
            assert list(out.shape) == arrays[f'{name}_shape'].tolist()
            mean, std = out.mean((0, 2, 3)), out.std((0, 2, 3), unbiased=False)
            assert relative_error(mean[::16], arrays[f'{name}_channel_mean']) < 1e-5
            assert relative_error(std[::16], arrays[f'{name}_channel_std']) < 1e-5

    @pytest.mark.parametrize('golden_run', [26], indirect=True)
    def test_last_map(self, golden_run):
        _, arrays, pyramid = golden_run
        assert relative_error(pyramid[3][:, ::32], arrays['acmix_resnet26_3']) < 1e-5


@pytest.mark.parametrize('depth', DEPTHS)
def test_parameters(depth):
    """Counted with the 1000-class head, as the paper's table is."""
    count = sum(p.numel() for p in ACmixResNet(depth).parameters()) + 2048 * 1000 + 1000
    assert count == {26: 10_487_816, 38: 14_410_896, 50: 18_333_976}[depth]
    assert count / 1e6 == pytest.approx(ACMIX_RESNET_ARCHS[depth].params, rel=0.02)


@pytest.mark.parametrize(
    'stages', [(True,) * 4, (False, False, True, True), (False,) * 4]
)
def test_stages_with_acmix(stages):
    model = ACmixResNet(26, base_channels=8, stages_with_acmix=stages)
    for stage, wanted in zip(model.stages, stages, strict=True):
        for block in stage.blocks:
            assert type(block.conv2) is (ACmix if wanted else nn.Conv2d)


def test_plain_stages_are_torchvisions_resnet():
    torchvision = pytest.importorskip('torchvision')
    theirs = torchvision.models.resnet50(weights=None).eval()
    for module in theirs.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.2, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    model = ACmixResNet(50, stages_with_acmix=(False,) * 4).eval()
    model.load_state_dict(theirs.state_dict(), strict=True)
    x = torch.randn(1, 3, 65, 94)
    with torch.no_grad():
        y = theirs.maxpool(theirs.relu(theirs.bn1(theirs.conv1(x))))
        for i, out in enumerate(model(x)):
            y = getattr(theirs, f'layer{i + 1}')(y)
            assert relative_error(out, y) < 1e-5


def test_arguments_reach_the_layers():
    attention = dict(type='SlidingWindowAttention', kernel_size=3)
    acmix = dict(num_heads=2, attention=attention, beta=0.0, learn_scales=False)
    model = ACmixResNet(26, base_channels=8, acmix=acmix)
    layers = [m for m in model.modules() if isinstance(m, ACmix)]
    assert len(layers) == 8
    assert {(m.num_heads, m.attention.kernel_size) for m in layers} == {(2, 3)}
    assert not any(m.has_convolution for m in layers)


def test_shifts_survive_init_weights():
    model = ACmixResNet(
        26, base_channels=8, init_cfg=[dict(type='Kaiming', layer='Conv2d')]
    )
    model.init_weights()
    shift = model.stages[2].blocks[1].conv2.shift
    assert torch.equal(shift.weight, grouped_shift_weight(8, 3, 4))


@pytest.mark.parametrize(
    ('kwargs', 'text'),
    [
        (dict(depth=34), r'arch 34 is unknown; known are \[26, 38, 50\]'),
        (dict(stages_with_acmix=(True,)), r'must have 4 entries, got \(True,\)'),
        (dict(base_channels=6), '6 channels do not split into num_heads=4'),
        (dict(frozen_stages=5), 'frozen_stages'),
    ],
)
def test_mistakes_are_named(kwargs, text):
    with pytest.raises(ValueError, match=text):
        ACmixResNet(**kwargs)
