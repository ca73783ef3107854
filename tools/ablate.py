"""Run a set of variants on the embedded data; write one table and one plot.

A set is a config with `ablation = {name: {dotted key: value}}`. Called again, it goes
on where it was broken off.

    python tools/ablate.py configs/ablations/acmix_paths.py
"""

import argparse
from pathlib import Path

import torch

from mmcasvit.analysis.complexity import count, num_params
from mmcasvit.analysis.report import ReportRow, write_report
from mmcasvit.engine.ablation import AblationRun, load_variants, run_variant
from mmcasvit.engine.launch import run_tool
from mmcasvit.registry import MODELS


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('config', help='config file of a set')
    parser.add_argument('--work-dir', help='default work_dirs/ablations/NAME')
    return parser.parse_args()


def as_row(run: AblationRun) -> ReportRow:
    """Metrics of a run, and what its backbone costs for the pictures it learned on."""
    backbone = MODELS.build(run.cfg.model.backbone)
    size = run.cfg.model.data_preprocessor.get('size', (256, 256))
    counted = count(backbone, [], torch.randn(1, 3, *size)).by_kind.total()
    values = run.metrics | {
        'backbone params (M)': num_params(backbone) / 1e6,
        f'multiply-adds at {size[0]}×{size[1]} (M)': counted / 1e6,
        's / iteration': run.seconds,
    }
    return ReportRow(run.name, values | run.scales, run.losses)


def main() -> None:
    args = parse_args()
    name = Path(args.config).stem
    work_dir = Path(args.work_dir or f'work_dirs/ablations/{name}')
    variants = load_variants(args.config, str(work_dir))
    rows = []
    for number, (variant, cfg) in enumerate(variants.items(), 1):
        print(f'{variant}: {number} of {len(variants)}, {cfg.work_dir}', flush=True)
        rows.append(as_row(run_variant(variant, cfg)))
    table, *others = write_report(name, rows, work_dir)
    print('\n'.join([table.read_text(), *map(str, (table, *others))]))


if __name__ == '__main__':
    run_tool(main)
