import argparse
import logging

import pytest
import torch
from fill import fill_tensor

from mmcasvit import CASViT
from mmcasvit.checkpoints import release as release_module
from mmcasvit.checkpoints.casvit import RELEASE
from mmcasvit.checkpoints.io import load_pretrained, read_state_dict


@pytest.fixture
def release(casvit_golden):
    """The release's state dicts by model name."""
    _, keys = casvit_golden
    return lambda name: {k: fill_tensor(k, shape) for k, shape in keys[name].items()}


def with_prefix(prefix, state):
    return {prefix + key: value for key, value in state.items()}


def assert_holds(model, state):
    """Every tensor of a release's state dict arrived in the model."""
    ours = model.state_dict()
    for key, value in RELEASE.to_ours(state).items():
        assert torch.equal(ours[key], value), key


@pytest.mark.parametrize('arch', ['xs', 's', 'm', 't'])
class TestRelease:
    def test_loads_strictly(self, release, arch):
        model, state = CASViT(arch), release(f'casvit_{arch}')
        model.load_state_dict(dict(state), strict=True)
        assert_holds(model, state)

    def test_classifier_loads_strictly(self, release, arch):
        model, state = CASViT(arch), release(f'casvit_{arch}_classification')
        norm = model.norms['3'].weight.detach().clone()
        model.load_state_dict(dict(state), strict=True)
        assert_holds(model, state)
        assert torch.equal(model.norms['3'].weight, norm)

    def test_both_directions(self, release, arch):
        state = release(f'casvit_{arch}')
        back = RELEASE.to_theirs(RELEASE.to_ours(state))
        assert list(back) == list(state)
        assert all(torch.equal(back[k], state[k]) for k in state)
        ours = CASViT(arch).state_dict()
        assert RELEASE.to_ours(RELEASE.to_theirs(ours)).keys() == ours.keys()
        assert RELEASE.to_theirs(ours).keys() == state.keys()


class TestHook:
    @pytest.mark.parametrize('prefix', ['backbone.', 'model.backbone.'])
    def test_in_a_whole_model(self, release, prefix):
        outer = inner = torch.nn.Module()
        *path, last = prefix.rstrip('.').split('.')
        for name in path:
            inner.add_module(name, torch.nn.Module())
            inner = inner.get_submodule(name)
        inner.add_module(last, CASViT('xs'))
        outer.add_module('head', torch.nn.Linear(2, 2))
        state = release('casvit_xs')
        head = {'head.weight': torch.ones(2, 2), 'head.bias': torch.ones(2)}
        outer.load_state_dict(with_prefix(prefix, state) | head, strict=True)
        assert_holds(outer.get_submodule(prefix.rstrip('.')), state)
        assert torch.equal(outer.head.bias, torch.ones(2))

    def test_prefix_of_the_file_alone(self, release):
        model, state = CASViT('xs'), release('casvit_xs')
        model.load_state_dict(with_prefix('module.backbone.', state), strict=True)
        assert_holds(model, state)

    def test_own_keys_pass(self):
        state = CASViT('xs').state_dict()
        model = CASViT('xs')
        model.load_state_dict(state, strict=True)
        assert all(torch.equal(v, state[k]) for k, v in model.state_dict().items())

    def test_stages_that_are_not_built_are_left_out(self, release):
        model = CASViT('xs', out_indices=(1, 2))
        model.load_state_dict(release('casvit_xs'), strict=True)
        assert torch.equal(
            model.norms['2'].weight, release('casvit_xs')['norm4.weight']
        )

    def test_foreign_and_missing_keys_are_errors(self, release):
        state = release('casvit_xs')
        with pytest.raises(RuntimeError, match='Unexpected.*surprise'):
            CASViT('xs').load_state_dict(state | {'surprise': torch.ones(1)})
        del state['network.2.0.attn.dwc.weight']
        with pytest.raises(RuntimeError, match=r'stages.1.blocks.0.token_mixer.ctx'):
            CASViT('xs').load_state_dict(state)

    def test_foreign_keys_have_no_release_name(self):
        with pytest.raises(ValueError, match=r"1 keys .*'neck.conv'"):
            RELEASE.to_theirs({'neck.conv': torch.ones(1)})

    def test_classifier_is_said(self, release, monkeypatch):
        said = []
        monkeypatch.setattr(
            release_module, 'print_log', lambda t, **k: said.append((t, k))
        )
        CASViT('xs').load_state_dict(release('casvit_xs'))
        assert said == []
        CASViT('xs').load_state_dict(release('casvit_xs_classification'))
        [(text, kwargs)] = said
        assert 'none of norms.0.weight' in text
        assert kwargs['level'] == logging.INFO


class TestFiles:
    @pytest.mark.parametrize(
        'wrap',
        [
            lambda state: state,
            lambda state: {'model': state, 'epoch': 3},
            lambda state: {'model': with_prefix('module.', state)},
            lambda state: {'state_dict': with_prefix('backbone.', state)},
            lambda state: {
                'state_dict': with_prefix('backbone.', state)
                | {'decode_head.conv_seg.weight': torch.ones(2)}
            },
            lambda state: {
                'model': {k: torch.zeros_like(v) for k, v in state.items()},
                'model_ema': state,
            },
        ],
        ids=['flat', 'model', 'module', 'backbone', 'segmentor', 'ema'],
    )
    @pytest.mark.parametrize('kind', ['casvit_xs', 'casvit_xs_classification'])
    def test_any_wrapping(self, release, tmp_path, wrap, kind):
        state = release(kind)
        torch.save(wrap(state), tmp_path / 'x.pth')
        init = dict(type='Pretrained', checkpoint=str(tmp_path / 'x.pth'))
        model = CASViT('xs', init_cfg=init)
        model.init_weights()
        assert_holds(model, state)

    def test_report(self, release, tmp_path):
        torch.save({'model': release('casvit_xs')}, tmp_path / 'x.pth')
        report = load_pretrained(CASViT('xs'), tmp_path / 'x.pth', RELEASE)
        assert report.endswith('476 of 476 tensors loaded into CASViT')

    def test_report_of_a_classifier_names_the_missing_norms(self, release, tmp_path):
        torch.save(release('casvit_xs_classification'), tmp_path / 'x.pth')
        report = load_pretrained(CASViT('xs'), tmp_path / 'x.pth', RELEASE)
        assert '460 of 476 tensors' in report
        assert 'new, as no such file holds them: norms.0.weight' in report
        assert 'missing' not in report
        assert 'and 10 more' in report

    def test_wrong_file_is_refused(self, tmp_path):
        torch.save({'conv.weight': torch.ones(3)}, tmp_path / 'x.pth')
        with pytest.raises(ValueError, match=r'0 of 476 tensors.*backbone.s arch'):
            load_pretrained(CASViT('xs'), tmp_path / 'x.pth', RELEASE)

    def test_wrong_arch_is_refused(self, release, tmp_path):
        torch.save(release('casvit_m'), tmp_path / 'x.pth')
        with pytest.raises(
            ValueError,
            match='does not fit CASViT: 691 tensors differ.*stem.conv1.weight',
        ):
            load_pretrained(CASViT('s'), tmp_path / 'x.pth', RELEASE)

    def test_missing_file(self):
        with pytest.raises(FileNotFoundError, match='no checkpoint at nowhere.pth'):
            read_state_dict('nowhere.pth')

    def test_arguments_beside_the_weights_are_plain_data(self, release, tmp_path):
        state = {'model': release('casvit_xs'), 'args': argparse.Namespace(lr=0.1)}
        torch.save(state, tmp_path / 'x.pth')
        assert read_state_dict(tmp_path / 'x.pth').keys() == state['model'].keys()

    def test_foreign_pickles_are_not_run(self, tmp_path):
        torch.save({'model': {}, 'code': CASViT}, tmp_path / 'x.pth')
        with pytest.raises(ValueError, match='does not read as plain weights.*trust'):
            read_state_dict(tmp_path / 'x.pth')
        assert read_state_dict(tmp_path / 'x.pth', trust=True) == {}

    def test_half_a_file(self, release, tmp_path):
        torch.save(release('casvit_xs'), tmp_path / 'x.pth')
        whole = (tmp_path / 'x.pth').read_bytes()
        (tmp_path / 'x.pth').write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match='does not read as plain weights'):
            read_state_dict(tmp_path / 'x.pth')
