"""What goes to standard output: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

MOST_COLUMNS = 4
PIPED_WIDTH = 160  # a pipe has no width of its own, and a log with cut-off cells helps nobody


def console() -> Console:
    """Return a console on standard output as it is now, wide enough where that is not a terminal."""
    is_terminal = sys.stdout.isatty()
    return Console(file=sys.stdout, width=None if is_terminal else PIPED_WIDTH, highlight=False, soft_wrap=False)


def print_json(value: Any) -> None:
    """Print JSON with a trailing newline; NaN is refused because no other program reads it."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def print_line(text: str) -> None:
    """Print one line of text as it is, without markup."""
    console().print(escape(text), soft_wrap=True)


def print_table(rows: Sequence[Mapping[str, Any]], title: str | None = None) -> None:
    """Print rows of equal keys under their title; numbers to the right."""
    if title is not None:
        print_line(title)
    table = Table()
    for name in rows[0] if rows else ():
        is_number = all(isinstance(row[name], int | float | None) for row in rows)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell(value)) for value in row.values()))
    console().print(table)


def print_metrics(model: str, metrics: Mapping[str, float], seconds: float | None) -> None:
    """Print how a model that was just fitted does: in one row, or in a row per metric where columns would be cut."""
    if len(metrics) > MOST_COLUMNS:
        rows = [{"metric": name, "value": value} for name, value in metrics.items()]
        print_table(rows, title=f"{model}, fitted in {cell(seconds)} seconds")
    elif metrics:
        print_table([{"model": model, **metrics, "seconds": seconds}])


def cell(value: Any) -> str:
    """Return a value as a person writes it.

    >>> cell(1234567), cell(0.41689), cell(None)
    ('1,234,567', '0.4169', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if 0.0001 <= abs(value) < 1000 or value == 0 else f"{value:.4g}"
