"""Runs that differ in a few options, one after the other, each kept when it is done."""

import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.runner import find_latest_checkpoint

from .launch import evaluate, load_config, train
from .preflight import PreflightError

METRICS = {
    'mIoU': 'mIoU',
    'aAcc': 'aAcc',
    'coco/bbox_mAP': 'bbox AP',
    'coco/segm_mAP': 'segm AP',
}
SCALES = {'alpha': 'α', 'beta': 'β'}


@dataclass(frozen=True)
class AblationRun:
    """What one variant came to.

    Args:
        name: The variant's.
        cfg: Its whole config.
        metrics: Name → value on the validation set.
        scales: Means of ACmix's α and β over its layers at the end, where it has them.
        seconds: Median time of a training iteration.
        losses: Iteration and mean training loss since the one before.
    """

    name: str
    cfg: Config = field(compare=False)
    metrics: dict[str, float]
    scales: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    losses: list[tuple[int, float]] = field(default_factory=list)


def load_variants(path: str, work_dir: str) -> dict[str, Config]:
    """The configs of a set: one for each entry of its `ablation`.

    Args:
        path: Config file with `ablation = {name: {dotted key: value}}`.
        work_dir: Folder with a folder for each variant.

    Raises:
        PreflightError: If the config is no set, or two variants have one folder.
    """
    found = Config.fromfile(path).get('ablation')
    if not found:
        raise PreflightError(
            f'{path} has no `ablation` = {{name: {{dotted key: value}}}}; the sets are '
            'in configs/ablations/'
        )
    folders = [re.sub(r'[^a-z0-9]+', '_', name.lower()).strip('_') for name in found]
    if len(set(folders)) < len(folders):
        raise PreflightError(
            f'{path}: names of variants must differ in ASCII letters or digits, which '
            f'name their folders; got {sorted(found)}'
        )
    return {
        name: load_config(path, options.to_dict(), str(Path(work_dir) / folder))
        for (name, options), folder in zip(found.items(), folders, strict=True)
    }


def run_variant(name: str, cfg: Config) -> AblationRun:
    """Train and evaluate a variant, or what is still missing of that.

    A run that was broken off goes on at its newest checkpoint; one that is done is
    read.

    Args:
        name: The variant's.
        cfg: From `load_variants`.

    Raises:
        PreflightError: If the folder holds a run of another config.
    """
    folder = Path(cfg.work_dir)
    _claim(folder, cfg)
    metrics = folder / 'metrics.json'
    if not metrics.is_file():
        running = cfg.copy()
        # A process has one visualizer of a name, which writes into its first folder.
        running.visualizer.name = str(folder.resolve())
        training = running.copy()
        training.update(val_cfg=None, val_dataloader=None, val_evaluator=None)
        train(training, resume='auto')
        evaluate(running, find_latest_checkpoint(str(folder)), out=str(folder))
    found = json.loads(metrics.read_text())
    logged = list(_logged(folder))
    return AblationRun(
        name,
        cfg,
        {label: found[key] for key, label in METRICS.items() if key in found},
        {s: logged[-1][key] for key, s in SCALES.items() if key in logged[-1]},
        statistics.median(entry['time'] for entry in logged),
        [(entry['step'], entry['loss']) for entry in logged],
    )


def _claim(folder: Path, cfg: Config) -> None:
    """Write the variant's config into its folder, or see that it is the same."""
    file, text = folder / 'variant.py', cfg.pretty_text
    if file.is_file() and file.read_text() != text:
        raise PreflightError(
            f'{folder} holds a run of another config ({file}): name another '
            '--work-dir, or take the folder away'
        )
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _logged(folder: Path) -> Iterator[dict[str, Any]]:
    """What the training wrote down, of all its parts if it was broken off."""
    entries = {}
    for file in sorted(folder.glob('*/vis_data/scalars.json')):
        lines = (json.loads(line) for line in file.read_text().splitlines())
        entries |= {line['step']: line for line in lines if 'loss' in line}
    return (entries[step] for step in sorted(entries))
