import ast
import re

import pytest
from mmengine.config import Config, ConfigDict
from mmengine.registry import MODELS
from models import CONFIGS

from mmcasvit.engine import preflight
from mmcasvit.engine.preflight import PreflightError, check_inputs


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """No data and no weights are here, and the environment is taken for fitting."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(preflight, 'environment_problems', list)


def message(cfg, purpose='train'):
    with pytest.raises(PreflightError) as caught:
        check_inputs(cfg, purpose)
    return str(caught.value)


class TestShipped:
    @pytest.mark.parametrize(
        ('name', 'command'),
        [
            ('maskrcnn_casvit.py', 'python tools/prepare_data.py coco'),
            ('upernet_casvit.py', 'python tools/prepare_data.py ade20k'),
            ('mini/retinanet_casvit.py', 'python tools/prepare_data.py shapes'),
        ],
    )
    def test_names_the_command_that_makes_the_data(self, name, command):
        text = message(Config.fromfile(CONFIGS / name))
        assert command in text
        assert ('configs/mini/' in text) is not name.startswith('mini')

    def test_names_both_ways_to_weights(self):
        text = message(Config.fromfile(CONFIGS / 'maskrcnn_casvit.py'))
        assert 'weights not found: checkpoints/casvit_m.pth' in text
        assert 'drive.google.com/file/d/13sQpSEf0h_uuh0jRy9V0yIW6ZsbDpVGy' in text
        assert (
            '--cfg-options model.backbone.init_cfg=None model.backbone.norm_eval=False'
            in text
        )

    @pytest.mark.parametrize(
        'name',
        [
            'casvit/maskrcnn_casvit_xs_1x_coco.py',
            'acmix/maskrcnn_acmix_swin_t_1x_coco.py',
        ],
    )
    def test_the_options_it_names_build_the_backbone(self, name):
        cfg = Config.fromfile(CONFIGS / name)
        options = re.findall(r'(model\.\S+)=(None|False)', message(cfg))
        cfg.merge_from_dict({key: ast.literal_eval(value) for key, value in options})
        assert cfg.model.backbone.init_cfg is None
        MODELS.build(cfg.model.backbone)

    def test_those_options_train_from_scratch(self):
        cfg = Config.fromfile(CONFIGS / 'maskrcnn_casvit.py')
        cfg.merge_from_dict(
            {'model.backbone.init_cfg': None, 'model.backbone.norm_eval': False}
        )
        assert 'weights' not in message(cfg)

    def test_evaluation_wants_no_weights_and_no_training_data(self):
        text = message(Config.fromfile(CONFIGS / 'maskrcnn_casvit.py'), 'test')
        assert 'weights' not in text
        assert 'train2017' not in text
        assert 'val2017' in text


@pytest.mark.parametrize('purpose', ['train', 'test'])
def test_what_only_the_metric_reads(purpose, tmp_path):
    (tmp_path / 'a.json').touch()
    there, moved = (dict(type='CocoMetric', ann_file=f'{n}.json') for n in 'ab')
    metrics = {'train': 'val_evaluator', 'test': 'test_evaluator'}
    text = message({metrics[purpose]: [there, moved]}, purpose)
    assert 'data not found: b.json. Ways on: ' in text
    assert 'val_evaluator.ann_file' in text
    check_inputs({metrics[purpose]: there}, purpose)


def test_everything_there(tmp_path):
    for name in ('a.json', 'pictures/1.jpg', 'w.pth'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    dataset = dict(
        data_root=str(tmp_path), ann_file='a.json', data_prefix=dict(img='pictures/')
    )
    weights = dict(type='Pretrained', checkpoint=str(tmp_path / 'w.pth'))
    cfg = ConfigDict(
        train_dataloader=dict(dataset=dict(type='RepeatDataset', dataset=dataset)),
        val_dataloader=dict(dataset=dict(datasets=[dataset, dataset])),
        model=dict(backbone=dict(init_cfg=weights)),
    )
    check_inputs(cfg, 'train')
    dataset['ann_file'] = 'b.json'
    assert str(tmp_path / 'b.json') in message(
        ConfigDict(train_dataloader=dict(dataset=dict(dataset=dataset)))
    )


def test_remote_files_are_not_looked_for():
    cfg = ConfigDict(
        train_dataloader=dict(dataset=dict(data_root='s3://x/', ann_file='a.json')),
        model=dict(init_cfg=[dict(type='Pretrained', checkpoint='http://x/y.pth')]),
    )
    check_inputs(cfg, 'train')


def test_environment_comes_first(monkeypatch):
    monkeypatch.setattr(preflight, 'environment_problems', lambda: ['a and b clash'])
    assert message(ConfigDict()) == 'a and b clash'
