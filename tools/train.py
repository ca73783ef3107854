"""Train a detector or segmentor.

python tools/train.py configs/mini/maskrcnn_casvit.py
"""

import argparse

from mmengine.config import DictAction

from mmcasvit.engine.launch import load_config, run_tool, train


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('config', help='config file')
    parser.add_argument('--work-dir', help='folder for logs and checkpoints')
    parser.add_argument(
        '--resume',
        nargs='?',
        const='auto',
        metavar='PATH',
        help='continue at a checkpoint; without PATH at the newest of the work dir',
    )
    parser.add_argument('--amp', action='store_true', help='mixed precision (GPU)')
    parser.add_argument(
        '--auto-scale-lr',
        action='store_true',
        help="scale the learning rate to this run's batch size",
    )
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
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    cfg = load_config(args.config, args.cfg_options, args.work_dir, args.launcher)
    train(cfg, args.resume, args.amp, args.auto_scale_lr)


if __name__ == '__main__':
    run_tool(main)
