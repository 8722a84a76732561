"""From named values to cells ready for the page: written, aligned, the best ones marked."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
    if value is None or (isinstance(value, str) and not value):
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
        return _list_cell([f"{name}: {_plain(part)}" for name, part in value.items()])
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return _list_cell([_plain(part) for part in value])
    return ShownCell(str(value))


def fact_of(value: Any) -> ShownCell:
    """Write a setting: numbers with the digits they were given with, not with those of a measurement.

    >>> fact_of(0.01).text, fact_of(200.0).text
    ('0.01', '200')
    """
    return cell_of(value, lambda number: f"{number:g}" if isinstance(number, float) else format_number(number))


def _list_cell(parts: list[str]) -> ShownCell:
    if len(parts) > _MAX_PARTS:
        parts = [*parts[:_MAX_PARTS], f"and {len(parts) - _MAX_PARTS:,} more"]
    return ShownCell("" if parts else MISSING, parts=parts)


def explanation_blocks(explanation: Mapping[str, Any], *, is_open: bool = False) -> list[Block]:
    """Turn what `explain()` returned into blocks: single numbers are tiles, the rest folds, open if `is_open`.

    In the folds, lists of dicts are tables and dicts of those are folds again.
    """
    single = {_title(name): value for name, value in explanation.items() if isinstance(value, numbers.Real)}
    tiles: list[Block] = [KeyNumbers(single)] if single else []
    folds = [
        Fold(_title(name), _explain_value(_title(name), value), is_open)
        for name, value in explanation.items()
        if not isinstance(value, numbers.Real)
    ]
    return [*tiles, *folds]


def _explain_value(title: str, value: Any) -> list[Block]:
    if isinstance(value, str):
        return [Text(value)]
    if _is_table(value):
        return [Table(value, caption=title)]
    if isinstance(value, Mapping) and any(isinstance(part, Mapping) or _is_table(part) for part in value.values()):
        # Inner names are ids as often as words, and shown as they are.
        return [Fold(str(name), _explain_value(str(name), part)) for name, part in value.items()]
    return [Facts(value if isinstance(value, Mapping) else {title: value})]


def _show_column(values: Sequence[Any], best: str | None, write: Callable[[float], str] | None) -> list[ShownCell]:
    comparable = [_comparable(value) for value in values]
    known = [value for value in comparable if not math.isnan(value)]
    if write is None:
        is_whole = [isinstance(value, numbers.Integral) for value in values]
        reals = [value for value, whole in zip(comparable, is_whole, strict=True) if not whole]
        # Counts that happen to be stored as reals are written as the whole numbers they are.
        decimals = 0 if all(value.is_integer() for value in known) else shared_decimals(reals)
        write = partial(format_number, decimals=decimals)
    cells = [cell_of(value, write) for value in values]
    if best is None:
        return cells
    choose = {"max": max, "min": min}[check_choice("best", best, ["max", "min"])]
    if len(known) < 2:  # one row has nothing to be better than
        return cells
    winner = choose(known)
    return [replace(cell, is_best=value == winner) for cell, value in zip(cells, comparable, strict=True)]


def _comparable(value: Any) -> float:
    if isinstance(value, Estimate):
        return float(value.mean)
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return float(value) if is_number else math.nan


def _plain(value: Any) -> str:
    """Write a part of a list: a dict by its values, a pair by its parts, anything else as its cell."""
    if isinstance(value, Mapping):
        value = list(value.values())
    shown = cell_of(value, lambda number: f"{number:.3g}" if isinstance(number, float) else format_number(number))
    return " ".join(shown.parts) if shown.parts else shown.text


def _is_table(value: Any) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    return is_list and all(isinstance(row, Mapping) for row in value)


def _title(name: str) -> str:
    """Write an identifier as a heading.

    >>> _title("similar_items")
    'Similar items'
    """
    words = str(name).replace("_", " ").strip()
    return words[:1].upper() + words[1:] or "Untitled"
