"""What every kind of table offers a reader: column names, and chunks that can say where a value stood."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of some columns; `place(row)` names a row for a message ("ratings.csv, line 7").

    `place` itself raises a ValueError where the row as such is broken (a wrong number of fields).
    """

    frame: pl.DataFrame
    place: Callable[[int], str]

    def fault(self, row: int, column: str, constraint: str) -> ValueError:
        """Return the error for one value, with file, row or line, column, constraint and the value."""
        value = self.frame[column][row]
        shown = "nothing" if value is None or value == "" else repr(value)
        shown = shown if len(shown) <= 80 else shown[:79] + "…"
        return ValueError(f"{self.place(row)}: {column} must be {constraint}, got {shown}")


class Table(Protocol):
    """A table that can be walked through as often as needed; text tables hold nothing but strings."""

    name: str
    columns: list[str]
    is_text: bool

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Yield the rows in order, with the given columns only."""
        ...
