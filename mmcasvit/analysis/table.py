"""Measurements as a table for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from .benchmark import MIB, Measurement


def print_results(title: str, results: Sequence[Measurement], batch: int) -> None:
    """Print medians, throughput, peak memory, and ratios to the first row.

    Args:
        title: What was measured.
        results: One row each.
        batch: Pictures per run, for the throughput.
    """
    first = results[0].name
    table = Table(title=title, title_justify='left')
    table.add_column('')
    for heading in ('median', f'÷ {first}', 'images/s', 'peak memory', f'÷ {first}'):
        table.add_column(heading, justify='right')
    for result in results:
        table.add_row(
            result.name,
            f'{1e3 * result.median:.1f} ms',
            f'{result.ratio:.2f}',
            f'{batch / result.median:.1f}',
            f'{result.memory / MIB:.1f} MiB',
            f'{result.memory_ratio:.2f}',
        )
    Console(width=100).print(table)
