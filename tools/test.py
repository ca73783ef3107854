"""Evaluate a checkpoint: AP per class, or IoU per class.

    python tools/test.py configs/mini/maskrcnn_casvit.py \\
        work_dirs/maskrcnn_casvit/epoch_3.pth --show-dir work_dirs/pictures
"""

import argparse

from mmcasvit.engine.launch import evaluate, load_config, run_parser, run_tool


def parse_args() -> argparse.Namespace:
    parser = run_parser(__doc__)
    parser.add_argument('checkpoint', help='file with the weights')
    parser.add_argument('--out', metavar='DIR', help='write metrics and predictions')
    parser.add_argument(
        '--show-dir', metavar='DIR', help='draw the truth beside the prediction'
    )
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    cfg = load_config(args.config, args.cfg_options, args.work_dir, args.launcher)
    evaluate(cfg, args.checkpoint, args.out, args.show_dir)


if __name__ == '__main__':
    run_tool(main)
