"""Every shipped config loads, builds and takes one training step."""

import math
import re
from collections import Counter

import pytest
import torch
from mmengine.config import Config
from models import CONFIGS, SHIPPED, batch, build, load, predict, train_step

from mmcasvit.analysis.published import FAMILIES as PUBLISHED
from mmcasvit.analysis.published import arch_name
from mmcasvit.analysis.subjects import backbones
from mmcasvit.backbones.archs import CASVIT_ARCHS
from mmcasvit.engine.ablation import load_variants

ALGORITHMS = ('maskrcnn', 'retinanet', 'upernet', 'semanticfpn')
ARCHS = [arch_name(f.name, a).split('_', 1) for f in PUBLISHED for a in f.archs]
FAMILIES = ('casvit', 'acmix', 'acmix_swin', 'acmix_pvt', 'acmix_san')
FLAGSHIPS = ('casvit', 'acmix')
MINI = [f'mini/{a}_{family}.py' for a in ALGORITHMS for family in FAMILIES]
VARIANTS = [
    (path, name)
    for path in SHIPPED
    if path.startswith('ablations/')
    for name in Config.fromfile(CONFIGS / path).ablation
]
SMALL = dict(embed_dims=[8, 12, 16, 20], depths=[1, 1, 1, 1])


def small_model(algorithm, **preprocessor):
    """An algorithm's mini config on a tiny backbone."""
    cfg = load(f'mini/{algorithm}_casvit.py')
    cfg.model.backbone.arch = SMALL
    dims = SMALL['embed_dims']
    if algorithm == 'upernet':
        cfg.model.decode_head.in_channels = dims
        cfg.model.auxiliary_head.in_channels = dims[2]
    else:
        cfg.model.neck.in_channels = dims
    cfg.model.data_preprocessor.update(preprocessor)
    return cfg, build(cfg)


def test_all_results_are_there():
    wanted = {f'{a}_{family}.py' for a in ALGORITHMS for family in FLAGSHIPS}
    wanted |= set(MINI)
    schedules = dict(
        maskrcnn='1x_coco',
        retinanet='1x_coco',
        upernet='160k_ade20k',
        semanticfpn='40k_ade20k',
    )
    wanted |= {
        f'{family}/{algorithm}_{family}_{arch}_{schedule}.py'
        for algorithm, schedule in schedules.items()
        for family, arch in ARCHS
    }
    wanted |= {f'acmix/cascade_maskrcnn_acmix_swin_{a}_1x_coco.py' for a in 'ts'}
    assert wanted <= set(SHIPPED)


@pytest.mark.parametrize('name', SHIPPED)
def test_takes_a_step(name):
    cfg = load(name)
    if cfg.default_scope == 'mmseg':
        cfg.model.data_preprocessor.size = (64, 96)
    model = build(cfg)
    losses = train_step(model, batch(cfg, [(64, 96), (61, 93)]))
    assert all(math.isfinite(v) for v in losses.values())
    assert losses['loss'] > 0
    without = [
        n for n, p in model.named_parameters() if p.requires_grad and p.grad is None
    ]
    assert without == [], 'distributed training would wait for these'


@pytest.mark.parametrize(('path', 'name'), VARIANTS)
def test_variants_of_ablations_take_a_step(path, name, tmp_path):
    cfg = load_variants(str(CONFIGS / path), str(tmp_path))[name]
    cfg.model.data_preprocessor.size = (64, 96)
    losses = train_step(build(cfg), batch(cfg, [(64, 96), (61, 93)]))
    assert math.isfinite(losses['loss'])
    assert cfg.param_scheduler[-1].end == cfg.train_cfg.max_iters


def test_ablations_cover_the_papers():
    assert Counter(path for path, _ in VARIANTS) == {
        'ablations/acmix_paths.py': 5,
        'ablations/acmix_shifts.py': 4,
        'ablations/casvit_mixers.py': 5,
    }


@pytest.mark.parametrize('name', [n for n in SHIPPED if n.startswith('casvit/')])
class TestResults:
    def test_backbone_weights_and_channels_belong_together(self, name):
        cfg = Config.fromfile(CONFIGS / name)
        arch = re.search(r'casvit_(xs|s|m|t)_', name)[1]
        backbone = cfg.model.backbone
        assert backbone.arch == arch
        assert backbone.norm_eval
        assert backbone.init_cfg.checkpoint == f'checkpoints/casvit_{arch}.pth'
        assert backbone.drop_path_rate == (0.1 if arch in 'mt' else 0.0)
        dims = list(CASVIT_ARCHS[arch].embed_dims)
        indices = backbone.get('out_indices', (0, 1, 2, 3))
        head = cfg.model.get('neck') or cfg.model.decode_head
        assert list(head.in_channels) == [dims[i] for i in indices]


@pytest.mark.parametrize('name', [n for n in SHIPPED if n.startswith('acmix/')])
def test_acmix_backbone_and_channels_belong_together(name):
    cfg = Config.fromfile(CONFIGS / name)
    backbone = cfg.model.backbone
    arch = re.search(r'(acmix_[a-z]+(\d+|_[ts]))_', name)[1]
    plain = backbones()[arch]()
    assert backbone.type == type(plain).__name__
    assert str(backbone.get('depth', backbone.get('arch'))) in arch
    assert not backbone.get('norm_eval')
    # Weights were released for Swin alone.
    weights = dict(type='Pretrained', checkpoint=f'checkpoints/{arch}.pth')
    assert backbone.get('init_cfg') == (weights if 'swin' in arch else None)
    indices = backbone.get('out_indices', (0, 1, 2, 3))
    head = cfg.model.get('neck') or cfg.model.decode_head
    assert list(head.in_channels) == [plain.out_channels[i] for i in indices]
    assert cfg.custom_hooks == [dict(type='LogScalesHook')]


@pytest.mark.parametrize('name', [n for n in SHIPPED if re.match('(casvit|acmix)/', n)])
def test_recipe(name):
    cfg = Config.fromfile(CONFIGS / name)
    optimizer, loop = cfg.optim_wrapper.optimizer, cfg.train_cfg
    lr, decay, batch_size, length = {
        'maskrcnn': (2e-4, 1e-4, 4, 12),
        'cascade_maskrcnn': (2e-4, 1e-4, 4, 12),
        'retinanet': (2e-4, 1e-4, 4, 12),
        'semanticfpn': (2e-4, 1e-4, 4, 40_000),
        'upernet': (6e-5, 1e-2, 2, 160_000),
    }[re.match(r'[a-z]+/(\w+?)_(casvit|acmix)', name)[1]]
    assert (optimizer.type, optimizer.lr) == ('AdamW', lr)
    assert optimizer.weight_decay == decay
    assert cfg.train_dataloader.batch_size == batch_size
    assert cfg.auto_scale_lr.base_batch_size == 8 * batch_size
    assert loop.get('max_epochs') == length or loop.get('max_iters') == length


@pytest.mark.parametrize('algorithm', ALGORITHMS)
class TestAnySize:
    @pytest.mark.parametrize('size', [(31, 45), (333, 500), (1, 64), (64, 1)])
    @pytest.mark.parametrize('divisor', [1, 32])
    def test_predicts(self, algorithm, size, divisor):
        key = 'pad_size_divisor'
        if algorithm in ('upernet', 'semanticfpn'):
            key = 'test_cfg'
        value = divisor if key != 'test_cfg' else dict(size_divisor=divisor)
        cfg, model = small_model(algorithm, **{key: value})
        [sample] = predict(model, batch(cfg, [size]))
        if 'pred_sem_seg' in sample:
            assert sample.pred_sem_seg.shape == size
        else:
            boxes = sample.pred_instances.bboxes
            assert boxes.isfinite().all()
            if 'masks' in sample.pred_instances:
                assert sample.pred_instances.masks.shape[1:] == size

    @pytest.mark.parametrize('size', [(31, 45), (75, 50)])
    def test_trains_without_padding(self, algorithm, size):
        options = dict(pad_size_divisor=1)
        if algorithm in ('upernet', 'semanticfpn'):
            options = dict(size=size)
        cfg, model = small_model(algorithm, **options)
        losses = train_step(model, batch(cfg, [size, size]))
        assert all(math.isfinite(v) for v in losses.values())

    def test_pictures_without_objects(self, algorithm):
        cfg, model = small_model(algorithm)
        losses = train_step(model, batch(cfg, [(64, 64)] * 2, with_objects=False))
        assert all(math.isfinite(v) for v in losses.values())


@pytest.mark.parametrize('name', ['semanticfpn_casvit.py', 'upernet_casvit.py'])
def test_sync_bn_in_the_heads_is_reverted_by_the_runner(name):
    norm = Config.fromfile(CONFIGS / name).model.decode_head.norm_cfg
    assert norm.type == 'SyncBN'
    model = build(load(name))
    assert not any(isinstance(m, torch.nn.SyncBatchNorm) for m in model.modules())
