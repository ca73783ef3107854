"""A set is run, gone on with, and never mixed with another."""

import json
from pathlib import Path

import pytest

from mmcasvit.engine import ablation
from mmcasvit.engine.ablation import load_variants, run_variant
from mmcasvit.engine.preflight import PreflightError

ROOT = Path(__file__).parent.parent.parent
SET = f"""
_base_ = '{ROOT / 'configs/ablations/acmix_paths.py'}'
train_cfg = dict(max_iters=4)
train_dataloader = dict(batch_size=2)
default_hooks = dict(checkpoint=dict(interval=2), logger=dict(interval=1))
custom_hooks = [dict(type='LogScalesHook', interval=1)]
model = dict(
    backbone=dict(base_channels=8), neck=dict(in_channels=[32, 64, 128, 256])
)
ablation = dict(
    _delete_=True,
    convolution={{'model.backbone.acmix': dict(alpha=0.0, learn_scales=False)}},
    both={{}},
)
"""


@pytest.fixture
def path(tmp_path, shapes, monkeypatch):
    (tmp_path / 'data').mkdir()
    (tmp_path / 'data' / 'shapes').symlink_to(shapes)
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'set.py').write_text(SET)
    return tmp_path / 'set.py'


def test_variants_differ_in_their_options(path):
    variants = load_variants(str(path), 'runs')
    assert list(variants) == ['convolution', 'both']
    assert variants['convolution'].work_dir == 'runs/convolution'
    assert variants['convolution'].model.backbone.acmix.alpha == 0.0
    assert 'acmix' not in variants['both'].model.backbone
    assert variants['both'].model.neck.in_channels == [32, 64, 128, 256]


def test_a_run_is_kept(path, monkeypatch):
    cfg = load_variants(str(path), 'runs')['both']
    run = run_variant('both', cfg)
    assert run.metrics.keys() == {'mIoU', 'aAcc'}
    assert run.scales.keys() == {'α', 'β'}
    assert [step for step, _ in run.losses] == [1, 2, 3, 4]
    assert run.seconds > 0
    monkeypatch.setattr(ablation, 'train', None)
    monkeypatch.setattr(ablation, 'evaluate', None)
    assert run_variant('both', load_variants(str(path), 'runs')['both']) == run


def test_a_broken_run_goes_on(path, monkeypatch):
    class BrokenOffError(Exception):
        pass

    def evaluate(*args, **kwargs):
        raise BrokenOffError

    with monkeypatch.context() as patch:
        patch.setattr(ablation, 'evaluate', evaluate)
        variants = load_variants(str(path), 'runs')
        with pytest.raises(BrokenOffError):
            run_variant('convolution', variants['convolution'])
    folder = Path('runs/convolution')
    (folder / 'iter_4.pth').unlink()  # as if it had stopped before
    (folder / 'last_checkpoint').write_text(str(folder / 'iter_2.pth'))
    run = run_variant('convolution', load_variants(str(path), 'runs')['convolution'])
    assert [step for step, _ in run.losses] == [1, 2, 3, 4]
    lines = [
        json.loads(line)['step']
        for file in sorted(folder.glob('*/vis_data/scalars.json'))
        for line in file.read_text().splitlines()
        if 'loss' in line
    ]
    assert lines == [1, 2, 3, 4, 3, 4]


def test_another_config_does_not_mix(path):
    run_variant('both', load_variants(str(path), 'runs')['both'])
    path.write_text(SET + 'optim_wrapper = dict(optimizer=dict(lr=0.1))\n')
    with pytest.raises(PreflightError, match='runs/both holds a run of another config'):
        run_variant('both', load_variants(str(path), 'runs')['both'])


def test_no_set():
    config = ROOT / 'configs' / 'mini' / 'semanticfpn_acmix.py'
    with pytest.raises(PreflightError, match='has no `ablation` = '):
        load_variants(str(config), 'runs')


def test_names_must_differ(path):
    path.write_text(SET.replace('both={}', 'Convolution={}'))
    with pytest.raises(PreflightError, match='must differ'):
        load_variants(str(path), 'runs')
