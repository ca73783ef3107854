"""What must be there before anything is built: data, weights, a fitting environment."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..backbones.archs import CASVIT_ARCHS
from ..compat.environment import environment_problems

PREPARABLE = {'data/coco': 'coco', 'data/ade': 'ade20k', 'data/shapes': 'shapes'}
READERS = {
    'train': ('train_dataloader', 'val_dataloader', 'val_evaluator'),
    'test': ('test_dataloader', 'test_evaluator'),
}


class PreflightError(RuntimeError):
    """Something a run needs is missing; the message says how to get it."""


def check_inputs(cfg: dict[str, Any], purpose: str) -> None:
    """Look for everything that a run of `cfg` reads.

    Args:
        cfg: A whole config.
        purpose: 'train' or 'test'.

    Raises:
        PreflightError: With one line per thing that is missing, and the ways on.
    """
    problems = environment_problems()
    datasets = [d for name in READERS[purpose] for d in _datasets(cfg.get(name))]
    missing = sorted({p for d in datasets for p in _missing_paths(d)})
    if missing:
        problems.append(
            f'data not found: {", ".join(missing)}. {_ways_to_data(missing)}'
        )
    if purpose == 'train':
        problems += [_ways_to_weights(p) for p in _missing_weights(cfg.get('model'))]
    if problems:
        raise PreflightError('\n'.join(problems))


def _datasets(node: Any) -> Iterator[dict]:
    """Configs that name data, of a dataloader without its wrappers or of metrics."""
    if isinstance(node, dict):
        if 'data_root' in node or 'ann_file' in node:
            yield node
        else:
            for key in ('dataset', 'datasets'):
                yield from _datasets(node.get(key))
    elif isinstance(node, list | tuple):
        for item in node:
            yield from _datasets(item)


def _missing_paths(dataset: dict) -> list[str]:
    root = dataset.get('data_root') or ''
    parts = [
        dataset.get('ann_file') or '',
        *(dataset.get('data_prefix') or {}).values(),
    ]
    if any('://' in part for part in (root, *parts)):
        return []
    paths = [Path(root) / part for part in parts if part]
    return [str(path) for path in paths if not path.exists()]


def _ways_to_data(missing: list[str]) -> str:
    known = [name for root, name in PREPARABLE.items() if missing[0].startswith(root)]
    ways = [f'python tools/prepare_data.py {name}' for name in known]
    ways.append(
        'point train_dataloader.dataset.data_root, val_dataloader.dataset.data_root '
        'and val_evaluator.ann_file elsewhere with --cfg-options'
    )
    if 'shapes' not in known:
        ways.append('try the same algorithm on small data with configs/mini/')
    return 'Ways on: ' + '; or '.join(ways)


def _missing_weights(node: Any, path: str = 'model') -> list[tuple[str, str]]:
    """File of every local `Pretrained` checkpoint that is not there, and the options
    that do without it.
    """
    if not isinstance(node, dict):
        return []
    found = []
    init = node.get('init_cfg')
    for cfg in init if isinstance(init, list) else [init]:
        if isinstance(cfg, dict) and cfg.get('type') == 'Pretrained':
            file = cfg['checkpoint']
            if '://' not in file and not Path(file).expanduser().is_file():
                options = f'{path}.init_cfg=None'
                if node.get('norm_eval'):
                    options += f' {path}.norm_eval=False'
                found.append((file, options))
    for key, value in node.items():
        found += _missing_weights(value, f'{path}.{key}')
    return found


def _ways_to_weights(missing: tuple[str, str]) -> str:
    file, options = missing
    arch = Path(file).stem.removeprefix('casvit_')
    source = 'Ways on: put the file there'
    if Path(file).stem.startswith('casvit_') and arch in CASVIT_ARCHS:
        link = f'https://drive.google.com/file/d/{CASVIT_ARCHS[arch].weights_id}'
        source = f"Ways on: save the authors' ImageNet weights there, from {link}"
    return (
        f'weights not found: {file}. {source}; or train from scratch, which takes far '
        f'longer and ends lower: --cfg-options {options}'
    )
