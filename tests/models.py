"""Batches and steps for whole detectors and segmentors, without any data set."""

from pathlib import Path

import numpy as np
import torch
from mmengine.config import Config
from mmengine.model import revert_sync_batchnorm
from mmengine.registry import MODELS, init_default_scope
from mmengine.structures import InstanceData, PixelData

CONFIGS = Path(__file__).parent.parent / 'configs'
SHIPPED = sorted(
    str(p.relative_to(CONFIGS))
    for p in CONFIGS.rglob('*.py')
    if '_base_' not in p.parts
)


def load(name):
    """A shipped config without pretrained weights."""
    cfg = Config.fromfile(CONFIGS / name)
    if cfg.model.backbone.get('init_cfg'):
        cfg.model.backbone.init_cfg = None
    return cfg


def build(cfg):
    """The model of a config, on one process."""
    init_default_scope(cfg.default_scope)
    torch.manual_seed(0)
    model = revert_sync_batchnorm(MODELS.build(cfg.model))
    model.init_weights()
    return model


def batch(cfg, sizes, with_objects=True):
    """Random pictures of `sizes` with a truth that fits the config's algorithm."""
    inputs = [torch.randint(0, 256, (3, *size), dtype=torch.uint8) for size in sizes]
    sample = detection_sample if cfg.default_scope == 'mmdet' else semantic_sample
    return dict(inputs=inputs, data_samples=[sample(s, with_objects) for s in sizes])


def meta(size):
    return dict(
        img_shape=size,
        ori_shape=size,
        pad_shape=size,
        scale_factor=(1.0, 1.0),
        img_id=0,
        img_path='a.jpg',
        flip=False,
    )


def detection_sample(size, with_objects):
    from mmdet.structures import DetDataSample
    from mmdet.structures.mask import BitmapMasks

    height, width = size
    count = 2 if with_objects else 0
    boxes = torch.tensor(
        [
            [0, 0, 0.6 * width, 0.7 * height],
            [0.3 * width, 0.2 * height, width, height],
        ]
    )[:count]
    masks = np.zeros((count, height, width), np.uint8)
    for mask, (x1, y1, x2, y2) in zip(masks, boxes.int().tolist(), strict=True):
        mask[y1 : max(y2, y1 + 1), x1 : max(x2, x1 + 1)] = 1
    sample = DetDataSample(metainfo=meta(size))
    sample.gt_instances = InstanceData(
        bboxes=boxes,
        labels=torch.zeros(count, dtype=torch.long),
        masks=BitmapMasks(masks, height, width),
    )
    sample.ignored_instances = InstanceData(
        bboxes=torch.zeros(0, 4), labels=torch.zeros(0, dtype=torch.long)
    )
    return sample


def semantic_sample(size, with_objects):
    from mmseg.structures import SegDataSample

    labels = (
        torch.randint(0, 7, (1, *size)) if with_objects else torch.full((1, *size), 255)
    )
    sample = SegDataSample(metainfo=meta(size))
    sample.gt_sem_seg = PixelData(data=labels)
    return sample


def train_step(model, data):
    """One forward and backward pass; returns the losses."""
    model.train()
    data = model.data_preprocessor(data, True)
    losses = model(**data, mode='loss')
    total, log = model.parse_losses(losses)
    total.backward()
    return {name: float(value) for name, value in log.items()}


def predict(model, data):
    """Predictions of a model in eval mode."""
    model.eval()
    with torch.no_grad():
        return model(**model.data_preprocessor(data, False), mode='predict')
