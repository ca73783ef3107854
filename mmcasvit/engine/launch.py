"""From a config file to a run: what the tools call."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config, DictAction
from mmengine.runner import Runner

from .preflight import PreflightError, check_inputs

FAILED = 2


def run_parser(description: str) -> argparse.ArgumentParser:
    """The arguments of every tool that runs a config; `load_config` takes them."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('config', help='config file')
    parser.add_argument('--work-dir', help='folder for logs and checkpoints')
    parser.add_argument(
        '--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none'
    )
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=DictAction,
        metavar='KEY=VALUE',
        help='change the config: model.backbone.arch=s train_cfg.max_epochs=1',
    )
    parser.add_argument(
        '--local_rank', '--local-rank', type=int, help=argparse.SUPPRESS
    )
    return parser


def load_config(
    path: str,
    options: dict[str, Any] | None = None,
    work_dir: str | None = None,
    launcher: str = 'none',
) -> Config:
    """Read a config file and lay the command line's options over it.

    Args:
        path: Config file.
        options: Dotted keys → values.
        work_dir: Where a run writes; default `work_dirs/<config's name>`.
        launcher: 'none', 'pytorch', 'slurm' or 'mpi'.
    """
    cfg = Config.fromfile(path)
    cfg.merge_from_dict(options or {})
    cfg.launcher = launcher
    cfg.work_dir = work_dir or cfg.get('work_dir') or f'work_dirs/{Path(path).stem}'
    if not torch.cuda.is_available():
        cfg.merge_from_dict({'env_cfg.dist_cfg.backend': 'gloo'})
        for node in _nodes(cfg.get('model')):
            if node.get('type') == 'SyncBN':  # exists for GPUs only
                node['type'] = 'BN'
    return cfg


def train(
    cfg: Config, resume: str | None = None, amp: bool = False, scale_lr: bool = False
) -> Runner:
    """Train.

    Args:
        cfg: From `load_config`.
        resume: 'auto' continues at the newest checkpoint of `cfg.work_dir`; a path
            continues at that one.
        amp: Mixed precision; needs an accelerator.
        scale_lr: Scale the learning rate by batch size over the config's base.

    Raises:
        PreflightError: If data or weights are missing, or `amp` has no device.
    """
    check_inputs(cfg, 'train')
    if amp:
        if not torch.cuda.is_available():
            raise PreflightError('--amp needs a GPU: leave it out to train on the CPU')
        cfg.optim_wrapper.type = 'AmpOptimWrapper'
        cfg.optim_wrapper.setdefault('loss_scale', 'dynamic')
    if scale_lr:
        if 'auto_scale_lr' not in cfg:
            raise PreflightError(
                '--auto-scale-lr needs auto_scale_lr=dict(base_batch_size=…) in the '
                'config: the batch size that its learning rate is meant for'
            )
        cfg.auto_scale_lr.enable = True
    if resume is not None:
        cfg.resume = True
        cfg.load_from = None if resume == 'auto' else resume
    runner = _build_runner(cfg)
    runner.train()
    return runner


def evaluate(
    cfg: Config, checkpoint: str, out: str | None = None, show_dir: str | None = None
) -> dict[str, float]:
    """Evaluate a checkpoint.

    Args:
        cfg: From `load_config`.
        checkpoint: File with the model's weights.
        out: Folder for `metrics.json` and the predictions: COCO result files
            (`predictions.bbox.json`, `predictions.segm.json`), or label maps.
        show_dir: Folder for pictures: the truth beside the prediction.

    Returns:
        The metrics by name.

    Raises:
        PreflightError: If data or the checkpoint are missing.
    """
    check_inputs(cfg, 'test')
    if '://' not in checkpoint and not Path(checkpoint).is_file():
        raise PreflightError(f'no checkpoint at {checkpoint}')
    cfg.load_from = checkpoint
    for node in _nodes(cfg.model):  # the checkpoint replaces what they would read
        if 'init_cfg' in node:
            node['init_cfg'] = None
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
        _keep_predictions(cfg.test_evaluator, Path(out))
    if show_dir is not None:
        draw = dict(type='DrawResultsHook', out_dir=show_dir)
        cfg.custom_hooks = [*cfg.get('custom_hooks', []), draw]
    metrics = _build_runner(cfg).test()
    if out is not None:
        target = Path(out) / 'metrics.json'
        target.write_text(json.dumps(metrics, indent=1, default=float))
    return metrics


def _build_runner(cfg: Config) -> Runner:
    """Build the runner; MMEngine's own start of processes takes GPUs for granted."""
    if cfg.launcher == 'pytorch' and not torch.cuda.is_available():
        torch.distributed.init_process_group('gloo')
        wrapper = dict(type='MMDistributedDataParallel', device_ids=None)
        cfg.setdefault('model_wrapper_cfg', dict(broadcast_buffers=False, **wrapper))
    return Runner.from_cfg(cfg)


def _keep_predictions(evaluator: Any, out: Path) -> None:
    """Let the hosts' metrics write what they evaluate, in the data set's own format."""
    for metric in evaluator if isinstance(evaluator, list) else [evaluator]:
        if metric.type == 'CocoMetric':
            metric.outfile_prefix = str(out / 'predictions')
        elif metric.type == 'IoUMetric':
            metric.output_dir = str(out / 'predictions')


def _nodes(node: Any) -> Iterator[dict]:
    """Every dict in a config, from the outside in."""
    if isinstance(node, dict):
        yield node
    if isinstance(node, dict | list | tuple):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _nodes(child)


def run_tool(main: Callable[[], Any]) -> None:
    """Call a tool's main; what is missing becomes its message and exit code 2."""
    try:
        main()
    except PreflightError as error:
        print(error, file=sys.stderr)
        sys.exit(FAILED)
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
