import pytest
import torch
from fill import fill_tensor

from mmcasvit import ACmixResNet
from mmcasvit.checkpoints import release as release_module
from mmcasvit.checkpoints.acmix_resnet import RELEASE
from mmcasvit.checkpoints.io import load_pretrained
from mmcasvit.ops import grouped_shift_weight

torchvision = pytest.importorskip('torchvision')


@pytest.fixture(scope='module')
def plain():
    """A plain ResNet-50's state dict, as torchvision names it."""
    return torchvision.models.resnet50(weights=None).state_dict()


@pytest.mark.parametrize('depth', [26, 38, 50])
def test_both_directions(acmix_golden, depth):
    _, keys = acmix_golden
    shapes = keys[f'acmix_resnet{depth}']
    state = {key: fill_tensor(key, shape) for key, shape in shapes.items()}
    body = {k: v for k, v in state.items() if not k.startswith('fc.')}
    back = RELEASE.to_theirs(RELEASE.to_ours(state))
    assert list(back) == list(body)
    ours = ACmixResNet(depth).state_dict()
    assert RELEASE.to_ours(state).keys() == ours.keys()
    assert RELEASE.to_theirs(ours).keys() == body.keys()


class TestPlainResNet:
    @pytest.mark.parametrize('prefix', ['', 'backbone.'])
    def test_loads_strictly_into_all_but_acmix(self, plain, prefix, monkeypatch):
        said = []
        monkeypatch.setattr(release_module, 'print_log', lambda t, **k: said.append(t))
        model = ACmixResNet(50)
        state = {prefix + key: value for key, value in plain.items()}
        model.load_state_dict(state, strict=True)
        own = model.state_dict()
        for key, value in RELEASE.to_ours(plain).items():
            if not key.endswith('.conv2.weight'):
                assert torch.equal(own[key], value), key
        shift = own['stages.1.blocks.0.conv2.shift.weight']
        assert torch.equal(shift, grouped_shift_weight(32, 3, 4))
        assert 'none of stages.0.blocks.0.conv2.alpha' in said[0]

    def test_late_acmix_takes_the_early_convolutions(self, plain):
        model = ACmixResNet(50, stages_with_acmix=(False, False, False, True))
        model.load_state_dict(dict(plain), strict=True)
        early = model.state_dict()['stages.2.blocks.3.conv2.weight']
        assert torch.equal(early, plain['layer3.3.conv2.weight'])

    def test_report(self, plain, tmp_path):
        torch.save(plain, tmp_path / 'r50.pth')
        report = load_pretrained(ACmixResNet(50), tmp_path / 'r50.pth', RELEASE)
        assert '249 of 441 tensors loaded into ACmixResNet' in report
        assert 'as no such file holds them: stages.0.blocks.0.conv2.alpha' in report
        assert 'missing' not in report
        assert 'not used: stages.0.blocks.0.conv2.weight' in report

    def test_init_cfg(self, plain, tmp_path):
        torch.save({'state_dict': plain}, tmp_path / 'r50.pth')
        init = dict(type='Pretrained', checkpoint=str(tmp_path / 'r50.pth'))
        model = ACmixResNet(50, init_cfg=init)
        model.init_weights()
        assert torch.equal(model.stem.conv.weight, plain['conv1.weight'])

    def test_another_depth_is_refused(self, plain, tmp_path):
        torch.save(plain, tmp_path / 'r50.pth')
        small = {k: v for k, v in plain.items() if not k.startswith('layer3')}
        torch.save(small, tmp_path / 'part.pth')
        with pytest.raises(ValueError, match='Under 90%.*depth'):
            load_pretrained(ACmixResNet(50), tmp_path / 'part.pth', RELEASE)
