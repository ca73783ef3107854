"""Parameters, multiply-adds and peak activations, without data or weights.

Without a name: the papers' table beside what is counted.

    python tools/complexity.py casvit_m acmix_swin_t --size 224 224 --by-stage
    python tools/complexity.py configs/maskrcnn_casvit.py --size 800 1344
    python tools/complexity.py
"""

import argparse
import json

from rich.progress import track

from mmcasvit.analysis import complexity
from mmcasvit.analysis.published import published_table
from mmcasvit.analysis.subjects import make_model
from mmcasvit.analysis.table import print_complexity, print_published
from mmcasvit.engine.launch import run_tool
from mmcasvit.engine.preflight import PreflightError


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=f'{__doc__}\n{complexity.__doc__}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('names', nargs='*', help='backbones, config files')
    parser.add_argument('--size', nargs=2, type=int, default=(224, 224))
    parser.add_argument('--by-stage', action='store_true', help='show parts too')
    parser.add_argument('--json', metavar='FILE', help='write everything as JSON')
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    try:
        models = {name: make_model(name) for name in args.names}
    except ValueError as error:
        raise PreflightError(str(error)) from error
    if models:
        results = [
            complexity.complexity(name, model, tuple(args.size))
            for name, model in track(models.items(), 'counting', transient=True)
        ]
        print(complexity.__doc__.split('\n\n', 1)[1])
        print_complexity(results, args.by_stage)
        found = [result.as_dict() for result in results]
    else:
        rows = list(track(published_table(), 'counting', transient=True))
        print_published(rows)
        found = [vars(row) for row in rows]
    if args.json:
        with open(args.json, 'w') as file:
            json.dump(found, file, indent=2)


if __name__ == '__main__':
    run_tool(main)
