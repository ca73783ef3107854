"""A set of runs as one table and one plot."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class ReportRow:
    """One run.

    Args:
        name: The run's.
        values: Heading → value; the first one is drawn.
        losses: Iteration and training loss.
    """

    name: str
    values: dict[str, float]
    losses: Sequence[tuple[int, float]] = field(default_factory=list)


def write_report(title: str, rows: Sequence[ReportRow], folder: Path) -> list[Path]:
    """Write `table.md`, `table.csv` and `plot.png`.

    Args:
        title: Of the set.
        rows: One for each run; a value that a run lacks is left empty.
        folder: Where to.

    Returns:
        The files.
    """
    # The row that has most values gives the order.
    fullest = sorted(rows, key=lambda row: -len(row.values))
    headings = list(dict.fromkeys(key for row in fullest for key in row.values))
    cells = [[row.name, *(_cell(row.values.get(h)) for h in headings)] for row in rows]
    table = folder / 'table.csv'
    with table.open('w', newline='') as file:
        csv.writer(file).writerows([['', *headings], *cells])
    markdown = folder / 'table.md'
    rule = ['---', *['---:'] * len(headings)]
    lines = [f'| {" | ".join(line)} |' for line in (['', *headings], rule, *cells)]
    markdown.write_text('\n'.join([f'# {title}', '', *lines, '']))
    return [markdown, table, _plot(title, rows, folder / 'plot.png')]


def _cell(value: float | None) -> str:
    return '' if value is None else f'{value:.4g}'


def _plot(title: str, rows: Sequence[ReportRow], path: Path) -> Path:
    """Training loss on the left, the first value of each run on the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 2.4 + 0.5 * len(rows)), layout='constrained')
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    curves, bars = figure.subplots(1, 2)
    heading = next(iter(rows[0].values))
    for i, row in enumerate(rows):
        color = f'C{i}'
        curves.plot(*zip(*row.losses, strict=True), color=color, label=row.name)
        bar = bars.barh(row.name, row.values[heading], color=color)
        bars.bar_label(bar, fmt='%.4g', padding=3)
    curves.set(xlabel='iteration', ylabel='training loss')
    curves.legend()
    bars.set(xlabel=heading)
    bars.margins(x=0.15)
    bars.invert_yaxis()
    figure.savefig(path, dpi=120)
    return path
