"""The door to tables: any file or table in memory, by its format, as chunks or as one polars frame."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from gossamer.core.checks import check_choice
from gossamer.data.tables.adjacency import AdjacencyTable
from gossamer.data.tables.chunk import Table
from gossamer.data.tables.delimited import DIALECTS, DelimitedTable
from gossamer.data.tables.memory import FrameTable, ParquetTable
from gossamer.data.text_files import check_exists

FORMATS = (*DIALECTS, "parquet", "adjacency")
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".dat": "dat", ".inter": "inter", ".parquet": "parquet", ".pq": "parquet"}


def open_table(
    source: Any,
    *,
    format: str | None = None,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Return the chunks of a path or of a polars, pandas or Arrow table; see `read_interactions` for the formats."""
    if not isinstance(source, str | os.PathLike):
        return FrameTable(source)
    check_exists(source)
    kind = format_of(source) if format is None else check_choice("format", format, FORMATS)
    if kind == "parquet":
        return ParquetTable(source)
    if kind == "adjacency":
        return AdjacencyTable(source, encoding or "utf-8")
    dialect = DIALECTS[kind]
    if header is None and names is not None:
        header = False
    dialect = replace(
        dialect,
        separator=dialect.separator if separator is None else _checked_separator(separator),
        header=dialect.header if header is None else header,
        encoding=dialect.encoding if encoding is None else encoding,
    )
    return DelimitedTable(source, dialect, names)


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that a file's ending promises, with or without `.gz` behind it.

    >>> format_of("ml-1m/ratings.dat.gz")
    'dat'
    """
    plain = Path(path)
    if plain.suffix.lower() == ".gz":
        plain = plain.with_suffix("")
    kind = ENDINGS.get(plain.suffix.lower())
    if kind is None:
        raise ValueError(
            f"{os.fspath(path)} must end in {', '.join(ENDINGS)} (text also with .gz); for another ending say what "
            f"it is with format={', '.join(map(repr, FORMATS))}"
        )
    return kind


def read_table(
    source: Any,
    *,
    format: str | None = None,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
) -> pl.DataFrame:
    """Return a small table, such as user or item features, whole; the columns of a text file are strings.

    `names` names the columns of a file without header. Empty fields are null.
    """
    table = open_table(source, format=format, header=header, names=names, separator=separator, encoding=encoding)
    frames = [chunk.frame for chunk in table.chunks(table.columns)]
    return pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(table.columns, pl.String))


def _checked_separator(separator: str) -> str:
    is_character = isinstance(separator, str) and len(separator) == 1 and separator.isascii()
    if separator != "::" and (not is_character or separator in '"\r\n'):
        raise ValueError(f"separator must be one ASCII character or '::', got {separator!r}")
    return separator
