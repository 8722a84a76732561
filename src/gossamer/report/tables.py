"""From named values to cells ready for the page: written, aligned, the best ones marked."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gossamer.core.checks import check_choice
from gossamer.report.blocks import Block, Estimate, Facts, Fold, Hit, KeyNumbers, Table, Text
from gossamer.report.numbers import MISSING, format_number, shared_decimals

_MAX_PARTS = 50  # entries of a list that one cell shows


@dataclass(frozen=True)
class ShownCell:
    """A written cell: `text`, or `parts` where it is a list, and how to show it."""

    text: str
    interval: str = ""
    parts: Sequence[str] = ()
    is_number: bool = False
    is_best: bool = False
    is_hit: bool = False


@dataclass(frozen=True)
class ShownTable:
    """A written table; `is_number[j]` says whether column j is right-aligned."""

    columns: Sequence[str]
    is_number: Sequence[bool]
    rows: Sequence[Sequence[ShownCell]]


def show_table(table: Table) -> ShownTable:
    """Write every cell of a table, one precision per column, and mark the best of each column in `best`."""
    columns = list(dict.fromkeys(name for row in table.rows for name in row))
    shown = [
        _show_column([row.get(name) for row in table.rows], table.best.get(name), table.formats.get(name))
        for name in columns
    ]
    is_number = [any(cell.is_number for cell in column) for column in shown]
    return ShownTable(columns, is_number, list(zip(*shown, strict=True)))


def cell_of(value: Any, write: Callable[[float], str] = format_number) -> ShownCell:
    """Write one value of any kind; nothing that a caller puts in a table makes a report fail.

    >>> cell_of(1234).text, cell_of(True).text, cell_of(None).text, cell_of(["a", "b"]).parts
    ('1,234', 'yes', '–', ['a', 'b'])
    """
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        value = value.tolist()
    if value is None or value == "":
        return ShownCell(MISSING)
    if isinstance(value, bool):
        return ShownCell("yes" if value else "no")
    if isinstance(value, Estimate):
        is_known = math.isfinite(value.low) and math.isfinite(value.high)
        interval = f"{write(value.low)} to {write(value.high)}" if is_known else ""
        return ShownCell(write(value.mean), interval=interval, is_number=True)
    if isinstance(value, Hit):
        return ShownCell(value.name, is_hit=True)
    if isinstance(value, numbers.Real):
        number = int(value) if isinstance(value, numbers.Integral) else float(value)
        return ShownCell(write(number), is_number=True)
    if isinstance(value, Mapping):
        return ShownCell("", parts=[f"{name}: {_plain(part)}" for name, part in _first(list(value.items()))])
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes):
        ordered = list(value) if isinstance(value, Sequence) else sorted(value, key=str)
        return ShownCell("" if ordered else MISSING, parts=[_plain(part) for part in _first(ordered)])
    return ShownCell(str(value))


def explanation_blocks(explanation: Mapping[str, Any]) -> list[Block]:
    """Turn what `explain()` returned into blocks: lists of dicts are tables, dicts of them are folds within folds."""
    blocks: list[Block] = []
    for name, value in explanation.items():
        is_table = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        if is_table and value and all(isinstance(row, Mapping) for row in value):
            blocks.append(Fold(_title(name), [Table(value, caption=_title(name))]))
        elif isinstance(value, Mapping) and any(_is_nested(part) for part in value.values()):
            blocks.append(Fold(_title(name), explanation_blocks(value)))
        elif isinstance(value, Mapping):
            blocks.append(Fold(_title(name), [Facts(value)]))
        elif isinstance(value, numbers.Real):
            blocks.append(KeyNumbers({_title(name): value}))
        else:
            blocks.append(Fold(_title(name), [Text(value) if isinstance(value, str) else Facts({_title(name): value})]))
    return blocks


def _show_column(values: Sequence[Any], best: str | None, write: Callable[[float], str] | None) -> list[ShownCell]:
    comparable = [_comparable(value) for value in values]
    known = [value for value in comparable if not math.isnan(value)]
    if write is None:
        reals = [
            value for value, cell in zip(comparable, values, strict=True) if not isinstance(cell, numbers.Integral)
        ]
        decimals = shared_decimals(reals)
        write = lambda value: format_number(value, decimals)  # noqa: E731
    cells = [cell_of(value, write) for value in values]
    # One row has nothing to be better than.
    if best is None or len(known) < 2:
        return cells
    winner = max(known) if check_choice("best", best, ["max", "min"]) == "max" else min(known)
    return [
        ShownCell(cell.text, cell.interval, cell.parts, cell.is_number, value == winner, cell.is_hit)
        for cell, value in zip(cells, comparable, strict=True)
    ]


def _comparable(value: Any) -> float:
    if isinstance(value, Estimate):
        return float(value.mean)
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return float(value) if is_number else math.nan


def _plain(value: Any) -> str:
    """Write a part of a list: a dict by its values, a pair by its parts, anything else as its cell."""
    if isinstance(value, Mapping):
        value = list(value.values())
    shown = cell_of(value)
    return " ".join(shown.parts) if shown.parts else shown.text


def _first(parts: list[Any]) -> list[Any]:
    return parts if len(parts) <= _MAX_PARTS else [*parts[:_MAX_PARTS], f"and {len(parts) - _MAX_PARTS:,} more"]


def _is_nested(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, Sequence) and not isinstance(value, str) and any(isinstance(row, Mapping) for row in value)


def _title(name: str) -> str:
    """Write an identifier as a heading.

    >>> _title("similar_items")
    'Similar items'
    """
    words = str(name).replace("_", " ").strip()
    return words[:1].upper() + words[1:] or "Untitled"
