import pytest
import torch
from models import CONFIGS

from mmcasvit.engine import launch
from mmcasvit.engine.launch import load_config, run_tool
from mmcasvit.engine.preflight import PreflightError


def types(node):
    return [n['type'] for n in launch._nodes(node) if 'type' in n]


class TestLoadConfig:
    def test_options_are_laid_over(self):
        cfg = load_config(
            str(CONFIGS / 'maskrcnn_casvit.py'),
            {'model.backbone.init_cfg': None, 'train_cfg.max_epochs': 1},
        )
        assert cfg.model.backbone.init_cfg is None
        assert cfg.train_cfg.max_epochs == 1

    @pytest.mark.parametrize(
        ('given', 'expected'), [(None, 'work_dirs/upernet_casvit'), ('x', 'x')]
    )
    def test_work_dir(self, given, expected):
        path = str(CONFIGS / 'upernet_casvit.py')
        assert load_config(path, work_dir=given).work_dir == expected

    @pytest.mark.parametrize('gpu', [True, False])
    def test_what_needs_a_gpu(self, gpu, monkeypatch):
        monkeypatch.setattr(torch.cuda, 'is_available', lambda: gpu)
        cfg = load_config(str(CONFIGS / 'upernet_casvit.py'), launcher='pytorch')
        assert cfg.env_cfg.dist_cfg.backend == ('nccl' if gpu else 'gloo')
        assert ('SyncBN' in types(cfg.model)) is gpu
        assert cfg.launcher == 'pytorch'


def test_run_tool_prints_what_is_missing(capsys):
    def main():
        raise PreflightError('weights not found')

    with pytest.raises(SystemExit) as caught:
        run_tool(main)
    assert caught.value.code == 2
    assert capsys.readouterr().err == 'weights not found\n'


def test_run_tool_hides_no_other_error():
    with pytest.raises(ZeroDivisionError):
        run_tool(lambda: 1 / 0)
