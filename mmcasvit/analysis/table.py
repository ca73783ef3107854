"""Measurements as tables for people."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from .benchmark import MIB, Measurement
from .complexity import Complexity
from .published import Row

WIDTH = 120


def print_results(title: str, results: Sequence[Measurement], batch: int) -> None:
    """Print what modules cost, medians, throughput, memory, ratios to the first row.

    Args:
        title: What was measured.
        results: One row each.
        batch: Pictures per run, for the throughput.
    """
    first = results[0].name
    table = Table(title=title, title_justify='left')
    table.add_column('')
    for heading in ('params', 'multiply-adds', 'median', f'÷ {first}', 'images/s'):
        table.add_column(heading, justify='right')
    for heading in ('peak memory', f'÷ {first}'):
        table.add_column(heading, justify='right')
    for result in results:
        table.add_row(
            result.name,
            '' if result.params is None else _millions(result.params),
            '' if result.multiply_adds is None else _billions(result.multiply_adds),
            f'{1e3 * result.median:.1f} ms',
            f'{result.ratio:.2f}',
            f'{batch / result.median:.1f}',
            f'{result.memory / MIB:.1f} MiB',
            f'{result.memory_ratio:.2f}',
        )
    Console(width=WIDTH).print(table)


def print_growth(
    title: str,
    sizes: Sequence[tuple[int, int]],
    results: Sequence[Sequence[Measurement]],
) -> None:
    """Print how the costs of a pixel grow with the map: not at all, if linear.

    Args:
        title: What was measured.
        sizes: H, W, at least two.
        results: For each size, one measurement of each subject.
    """
    table = Table(title=f'{title}: costs of a pixel', title_justify='left')
    table.add_column('', no_wrap=True)
    for unit in ('mult-adds', 'time', 'memory'):
        for height, width in sizes:
            table.add_column(f'{unit}\n{height}×{width}', justify='right')
    pixels = [height * width for height, width in sizes]

    def count(result: Measurement) -> float:
        return math.nan if result.multiply_adds is None else result.multiply_adds

    for subject in zip(*results, strict=True):
        measured = list(zip(subject, pixels, strict=True))
        table.add_row(
            subject[0].name,
            *(f'{count(r) / p:,.0f}' for r, p in measured),
            *(f'{1e9 * r.median / p:,.0f} ns' for r, p in measured),
            *(f'{r.memory / p:,.0f} B' for r, p in measured),
        )
    Console(width=WIDTH).print(table)


def print_complexity(results: Sequence[Complexity], by_stage: bool) -> None:
    """Print what models cost, by kind of operator and, if wanted, by part."""
    for result in results:
        height, width = result.size
        title = f'{result.name}, 1×3×{height}×{width}'
        table = Table(title=title, title_justify='left')
        table.add_column('')
        table.add_column('parameters', justify='right')
        table.add_column('multiply-adds', justify='right')
        for kind, count in sorted(result.by_kind.items()):
            table.add_row(kind, '', _billions(count))
        if by_stage:
            table.add_section()
            for part, cost in result.by_part.items():
                costs = _millions(cost['params']), _billions(cost['multiply_adds'])
                table.add_row(part, *costs)
        table.add_section()
        table.add_row('all', _millions(result.params), _billions(result.multiply_adds))
        table.caption = f'peak activations {result.peak / MIB:.1f} MiB'
        Console(width=WIDTH).print(table)


def print_published(rows: Sequence[Row]) -> None:
    """Print the papers' figures beside those counted."""
    table = Table(
        title='1×3×224×224, with the classifier; M and G, in brackets what is counted '
        'over what is published',
        title_justify='left',
    )
    for heading in ('', 'params, paper', 'counted', 'multiply-adds, paper', 'counted'):
        table.add_column(heading, justify='right' if heading else 'left')
    for row in rows:
        table.add_row(
            row.name,
            f'{row.published_params:.1f}',
            f'{row.params:.2f} ({row.params / row.published_params - 1:+.1%})',
            *_beside(row.published_multiply_adds, row.multiply_adds),
        )
    Console(width=WIDTH).print(table)


def _beside(published: float | None, counted: float) -> tuple[str, str]:
    if published is None:
        return '', f'{counted:.2f}'
    return f'{published:.1f}', f'{counted:.2f} ({counted / published - 1:+.1%})'


def _millions(count: int) -> str:
    return f'{count / 1e6:.3f} M'


def _billions(count: int) -> str:
    return f'{count / 1e9:.3f} G'
