"""Train a detector or segmentor.

python tools/train.py configs/mini/maskrcnn_casvit.py
"""

import argparse

from mmcasvit.engine.launch import load_config, run_parser, run_tool, train


def parse_args() -> argparse.Namespace:
    parser = run_parser(__doc__)
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
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    cfg = load_config(args.config, args.cfg_options, args.work_dir, args.launcher)
    train(cfg, args.resume, args.amp, args.auto_scale_lr)


if __name__ == '__main__':
    run_tool(main)
