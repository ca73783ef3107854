"""The command line, as a person uses it: in a folder of their own, on small data."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

ROOT = Path(__file__).parent.parent.parent
MINI = ROOT / 'configs' / 'mini'
CLASSES = ('ball', 'box', 'triangle', 'star', 'ring', 'cross')


def run_tool(name, *args, cwd, code=0):
    done = subprocess.run(
        [sys.executable, str(ROOT / 'tools' / name), *map(str, args)],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, 'OMP_NUM_THREADS': '1'},
    )
    output = done.stdout + done.stderr
    assert done.returncode == code, output[-3000:]
    return output


@pytest.fixture
def place(tmp_path, shapes):
    """A working folder with the data where the configs expect it."""
    (tmp_path / 'data').mkdir()
    (tmp_path / 'data' / 'shapes').symlink_to(shapes)
    return tmp_path


def small_options(algorithm, cwd):
    """Write a config with the mini algorithm on a tiny backbone; its options too."""
    dims = [8, 12, 16, 20]
    heads = f'neck=dict(in_channels={dims})'
    if algorithm == 'upernet':
        heads = (
            f'decode_head=dict(in_channels={dims}), auxiliary_head=dict(in_channels=16)'
        )
    # Three steps teach little: let every prediction count.
    threshold = {
        'maskrcnn': ', test_cfg=dict(rcnn=dict(score_thr=0.0))',
        'retinanet': ', test_cfg=dict(score_thr=0.0)',
    }.get(algorithm, '')
    arch = dict(_delete_=True, embed_dims=dims, depths=[1, 1, 1, 1])
    config = cwd / f'{algorithm}.py'
    config.write_text(
        f"_base_ = '{MINI / f'{algorithm}_casvit.py'}'\n"
        f'model = dict(backbone=dict(arch={arch}), {heads}{threshold})\n'
    )
    if algorithm in ('maskrcnn', 'retinanet'):
        return config, ['train_cfg.max_epochs=1']
    return config, [
        'train_cfg.max_iters=3',
        'train_cfg.val_interval=3',
        'default_hooks.checkpoint.interval=3',
    ]


def train_and_test(algorithm, place):
    config, options = small_options(algorithm, place)
    output = run_tool(
        'train.py', config, '--work-dir', 'w', '--cfg-options', *options, cwd=place
    )
    checkpoint = Path((place / 'w' / 'last_checkpoint').read_text())
    output += run_tool(
        'test.py',
        config,
        checkpoint,
        '--out',
        'out',
        '--show-dir',
        'show',
        '--work-dir',
        'w',
        cwd=place,
    )
    metrics = json.loads((place / 'out' / 'metrics.json').read_text())
    return output, metrics


def assert_pictures(place):
    """The truth and the prediction side by side, one file per validation picture."""
    for source in sorted((place / 'data/shapes/images/validation').iterdir()):
        height, width = cv2.imread(str(source)).shape[:2]
        drawn = cv2.imread(str(place / 'show' / source.name))
        assert drawn.shape == (height, 2 * width, 3)
        assert not np.array_equal(drawn[:, :width], drawn[:, width:])


@pytest.mark.parametrize(
    ('algorithm', 'kinds'), [('maskrcnn', ['bbox', 'segm']), ('retinanet', ['bbox'])]
)
def test_detection(place, algorithm, kinds):
    output, metrics = train_and_test(algorithm, place)
    for name in CLASSES:
        assert re.search(rf'\| {name} ', output), 'AP per class is printed'
        assert f'coco/{name}_precision' in metrics
    assert_pictures(place)
    truth = COCO(place / 'data/shapes/annotations/instances_val.json')
    for kind in kinds:
        results = place / 'out' / f'predictions.{kind}.json'
        evaluation = COCOeval(truth, truth.loadRes(str(results)), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        assert metrics[f'coco/{kind}_mAP'] == pytest.approx(
            evaluation.stats[0], abs=1e-3
        )


@pytest.mark.parametrize('algorithm', ['upernet', 'semanticfpn'])
def test_segmentation(place, algorithm):
    output, metrics = train_and_test(algorithm, place)
    for name in ('background', *CLASSES):
        assert re.search(rf'\|\s+{name}\s+\|', output), 'IoU per class is printed'
    assert_pictures(place)
    names = sorted((place / 'data/shapes/annotations/validation').iterdir())
    truth, predicted = (
        np.concatenate([cv2.imread(str(f / n.name), -1).ravel() for n in names])
        for f in (
            place / 'data/shapes/annotations/validation',
            place / 'out/predictions',
        )
    )
    # Both are in the data set's own numbers: 0 is ignored, the classes follow.
    predicted, truth = predicted[truth > 0], truth[truth > 0]
    ious, accuracies = [], []
    for label in range(1, 8):
        both = ((predicted == label) & (truth == label)).sum()
        either = ((predicted == label) | (truth == label)).sum()
        ious.append(both / either if either else np.nan)
        of_truth = (truth == label).sum()
        accuracies.append(both / of_truth if of_truth else np.nan)
    assert metrics['mIoU'] == pytest.approx(100 * np.nanmean(ious), abs=0.01)
    assert metrics['mAcc'] == pytest.approx(100 * np.nanmean(accuracies), abs=0.01)
    accuracy = (predicted == truth).mean()
    assert metrics['aAcc'] == pytest.approx(100 * accuracy, abs=0.01)


def test_resume(place):
    config, options = small_options('retinanet', place)
    run_tool(
        'train.py', config, '--work-dir', 'w', '--cfg-options', *options, cwd=place
    )
    output = run_tool(
        'train.py',
        config,
        '--work-dir',
        'w',
        '--resume',
        '--cfg-options',
        'train_cfg.max_epochs=2',
        cwd=place,
    )
    assert 'resumed epoch: 1' in output
    assert (place / 'w' / 'epoch_2.pth').is_file()
    output = run_tool(
        'train.py',
        config,
        '--work-dir',
        'v',
        '--resume',
        'w/epoch_1.pth',
        '--cfg-options',
        'train_cfg.max_epochs=2',
        cwd=place,
    )
    assert 'resumed epoch: 1' in output


def test_two_processes_without_a_gpu(place):
    """gloo is chosen, SyncBN becomes BN, no parameter is waited for."""
    config, options = small_options('upernet', place)
    done = subprocess.run(
        [
            'bash',
            ROOT / 'tools' / 'dist_train.sh',
            config,
            '2',
            '--work-dir',
            'w',
            '--cfg-options',
            *options,
        ],
        cwd=place,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            'OMP_NUM_THREADS': '1',
            'MASTER_PORT': '29617',
            'CUDA_VISIBLE_DEVICES': '',
            'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}',
        },
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert (place / 'w' / 'iter_3.pth').is_file()


@pytest.mark.parametrize('name', ['train.py', 'test.py', 'prepare_data.py'])
def test_help(name, tmp_path):
    assert 'usage:' in run_tool(name, '--help', cwd=tmp_path)


class TestMissing:
    def test_data(self, tmp_path):
        output = run_tool('train.py', MINI / 'upernet_casvit.py', cwd=tmp_path, code=2)
        assert output.startswith('data not found: data/shapes/')
        assert 'Traceback' not in output
        assert list(tmp_path.iterdir()) == [], 'nothing was begun'

    def test_weights(self, place):
        config = place / 'c.py'
        init = dict(type='Pretrained', checkpoint='checkpoints/casvit_xs.pth')
        config.write_text(
            f"_base_ = '{MINI / 'maskrcnn_casvit.py'}'\n"
            f'model = dict(backbone=dict(norm_eval=True, init_cfg={init}))\n'
        )
        output = run_tool('train.py', config, cwd=place, code=2)
        assert output.startswith('weights not found: checkpoints/casvit_xs.pth')
        assert 'model.backbone.init_cfg=None model.backbone.norm_eval=False' in output
        assert not (place / 'work_dirs').exists()

    def test_checkpoint(self, place):
        output = run_tool(
            'test.py', MINI / 'maskrcnn_casvit.py', 'none.pth', cwd=place, code=2
        )
        assert output.strip() == 'no checkpoint at none.pth'

    def test_device_for_amp(self, place):
        import torch

        if torch.cuda.is_available():
            pytest.skip('there is a device')
        output = run_tool(
            'train.py', MINI / 'maskrcnn_casvit.py', '--amp', cwd=place, code=2
        )
        assert '--amp needs a GPU' in output

    def test_base_batch_size(self, place):
        output = run_tool(
            'train.py',
            MINI / 'maskrcnn_casvit.py',
            '--auto-scale-lr',
            cwd=place,
            code=2,
        )
        assert 'base_batch_size' in output


def test_prepare_shapes_says_where(tmp_path, monkeypatch):
    """An existing folder of a person's is named, and left alone."""
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'a.txt').touch()
    output = run_tool(
        'prepare_data.py', 'shapes', '--root', 'mine', cwd=tmp_path, code=2
    )
    assert 'mine holds other data' in output


class TestBenchmark:
    def test_measures_and_writes(self, tmp_path):
        args = ['conv3x3', 'acmix', '--size', 12, 20, '--channels', 8, '--batch', 2]
        output = run_tool(
            'benchmark.py', *args, '--runs', 2, '--out', 'x.json', cwd=tmp_path
        )
        said = '1 threads, PyTorch .*, float32, batch 2, 8 channels.*, 2 runs'
        assert re.search(said, output)
        written = json.loads((tmp_path / 'x.json').read_text())
        assert written['torch'] in output
        for mode in ('forward', 'train'):
            [[conv, acmix]] = written[mode]
            assert (conv['name'], acmix['name']) == ('conv3x3', 'acmix')
            assert len(acmix['seconds']) == 2
            ratio = acmix['median'] / conv['median']
            assert acmix['ratio'] == pytest.approx(ratio)
            assert f'{ratio:.2f}' in output

    def test_names_what_it_knows(self, tmp_path):
        output = run_tool('benchmark.py', 'resnet51', cwd=tmp_path, code=2)
        assert "'resnet51' is no config file" in output
        assert 'acmix_resnet50' in output
        assert 'Traceback' not in output


def test_ablate(place):
    """All variants end up in one table; the second call finds them done."""
    config = place / 'paths.py'
    config.write_text(
        f"_base_ = '{ROOT / 'configs/ablations/acmix_paths.py'}'\n"
        'train_cfg = dict(max_iters=1)\n'
        'train_dataloader = dict(batch_size=2)\n'
        'default_hooks = dict(checkpoint=dict(interval=1), logger=dict(interval=1))\n'
        'model = dict(backbone=dict(base_channels=8), '
        'neck=dict(in_channels=[32, 64, 128, 256]))\n'
    )
    output = run_tool('ablate.py', config, cwd=place)
    folder = place / 'work_dirs' / 'ablations' / 'paths'
    table = (folder / 'table.md').read_text()
    assert table in output
    names = re.findall(r'^\| (.+?) \| [\d.]+ ', table, re.MULTILINE)
    assert names == [
        'convolution path only',
        'attention path only',
        'both, α = β = 1',
        'both, α = β = 0.5',
        'both, α and β learned',
    ]
    assert cv2.imread(str(folder / 'plot.png')).size > 0
    again = run_tool('ablate.py', config, cwd=place)
    assert table in again
    assert 'Iter(train)' in output
    assert 'Iter(train)' not in again
