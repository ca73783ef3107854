"""Make or fetch a data set in the layout that the configs expect.

python tools/prepare_data.py shapes    # embedded data, drawn on the spot (a minute)
python tools/prepare_data.py coco      # COCO 2017, 20 GB
python tools/prepare_data.py ade20k    # ADE20K challenge data, 1 GB
"""

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, track

from mmcasvit.datasets.download import SOURCES, DownloadError, Report, prepare
from mmcasvit.datasets.shapes import write_shapes
from mmcasvit.engine.launch import run_tool
from mmcasvit.engine.preflight import PreflightError


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('name', choices=['shapes', *SOURCES])
    parser.add_argument('--root', metavar='DIR', help='default: data/<name>')
    return parser.parse_args()


@contextmanager
def show_progress(title: str) -> Iterator[Report]:
    with Progress() as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def show_items(items: Iterable[int], title: str) -> Iterable[int]:
    return track(list(items), description=title)


def main() -> None:
    args = parse_args()
    try:
        if args.name == 'shapes':
            root = write_shapes(args.root or 'data/shapes', progress=show_items)
        else:
            root = prepare(SOURCES[args.name], args.root, show_progress)
    except (DownloadError, FileExistsError) as error:
        raise PreflightError(str(error)) from error
    print(f'{args.name} is at {root}')


if __name__ == '__main__':
    run_tool(main)
