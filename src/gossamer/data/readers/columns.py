"""Columns of a chunk as ids, ratings and times, each value checked and named where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from jaxtyping import Float32, Int64

from gossamer.data.tables.chunk import Chunk, Table

# Compared in lower case and without punctuation, so that userId, user_id and "User ID" are one name.
USUAL_NAMES = {
    "user": ("user", "userid", "uid", "reviewerid", "customerid", "visitorid", "sessionid"),
    "item": ("item", "itemid", "iid", "movieid", "productid", "artistid", "businessid", "bookid", "trackid", "asin"),
    "rating": ("rating", "ratings", "score", "stars", "overall", "weight", "count", "plays"),
    "time": ("time", "timestamp", "datetime", "date", "unixreviewtime", "eventtime"),
}


def find_roles(
    table: Table,
    columns: Mapping[str, str | int | None] | None,
    usual_names: Mapping[str, Sequence[str]] = USUAL_NAMES,
    required: Sequence[str] = ("user", "item"),
) -> dict[str, str]:
    """Return the table's column for each required role and, where there is one, for the others.

    `columns` maps roles to a name, to a position counted from 0, or to None for "leave it out".
    """
    asked = dict(columns or {})
    for role in asked:
        if role not in usual_names:
            raise ValueError(f"columns must map {', '.join(usual_names)}, got the key {role!r}")
    roles = {role: _asked_column(table, role, asked[role]) if role in asked else None for role in usual_names}
    plain_names = {re.sub(r"[\W_]", "", name.lower()): name for name in reversed(table.columns)}
    for role, usual in usual_names.items():
        if role not in asked:
            roles[role] = next((plain_names[name] for name in usual if name in plain_names), None)
    found = {role: name for role, name in roles.items() if name is not None}
    for role in required:
        if role not in found:
            what = role if role == "text" else f"{role} ids"
            raise ValueError(
                f"{table.name} must have a column of {what}, got the columns {_listed(table.columns)}; "
                f"say which with columns={{{role!r}: ...}}"
                + ("; or header=False where there is no header" * table.is_text)
            )
    if len(set(found.values())) < len(found):
        raise ValueError(f"columns must name a different column for each role, got {found!r}")
    return found


def _asked_column(table: Table, role: str, column: str | int | None) -> str | None:
    if column is None:
        return None
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(table.columns):
        return table.columns[column]
    if isinstance(column, str) and column in table.columns:
        return column
    raise ValueError(
        f"columns[{role!r}] must be a column of {table.name}, got {column!r}; it has {_listed(table.columns)}"
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name if len(name) <= 40 else name[:39] + "…") for name in names[:30])
    return shown + (f" and {len(names) - 30} more" if len(names) > 30 else "")


def id_column(chunk: Chunk, name: str) -> pl.Series:
    """Return ids as a String or Int64 series; missing, empty and fractional ones are errors."""
    series = chunk.frame[name]
    if series.dtype in (pl.Categorical, pl.Enum, pl.Null):
        series = series.cast(pl.String)
    if series.dtype.is_float():  # what pandas makes of integers with a gap
        _refuse(chunk, name, (~(series == series.round(0))).fill_null(True) | ~(series.abs() < 2.0**53), "an id")
    elif series.dtype != pl.String and not series.dtype.is_integer():
        raise ValueError(f"{chunk.place(0)}: {name} must be strings or integers, got {series.dtype}")
    if series.dtype != pl.String:
        whole = series.cast(pl.Int64, strict=False)
        _refuse(chunk, name, whole.is_null(), "a 64-bit integer")
        return whole.alias("id")
    _refuse(chunk, name, series.is_null() | (series == ""), "an id")
    return series.alias("id")


def rating_column(chunk: Chunk, name: str) -> Float32[np.ndarray, " n"]:
    """Return ratings as float32; missing, non-numeric and infinite ones are errors."""
    series = chunk.frame[name]
    if not (series.dtype.is_numeric() or series.dtype in (pl.String, pl.Boolean, pl.Null)):
        raise ValueError(f"{chunk.place(0)}: {name} must be numbers, got {series.dtype}")
    if series.dtype == pl.String:
        series = series.str.strip_chars()
    numbers = series.cast(pl.Float32, strict=False)
    _refuse(chunk, name, ~numbers.is_finite().fill_null(False), "a finite number")
    return numbers.to_numpy()


def time_column(chunk: Chunk, name: str) -> Int64[np.ndarray, " n"]:
    """Return times as whole seconds: numbers as they are, rounded down; dates and ISO texts since 1970 (UTC)."""
    series = chunk.frame[name]
    if series.dtype == pl.String:
        seconds = _seconds_from_text(series.str.strip_chars())
    elif series.dtype in (pl.Datetime, pl.Date):
        seconds = series.dt.epoch("s")
    elif series.dtype.is_numeric() or series.dtype == pl.Null:
        seconds = _whole(series)
    else:
        raise ValueError(f"{chunk.place(0)}: {name} must be seconds or dates, got {series.dtype}")
    _refuse(chunk, name, seconds.is_null(), "a time in seconds or a date such as 2026-11-15 22:58:10")
    return seconds.to_numpy()


def _whole(numbers: pl.Series) -> pl.Series:
    if numbers.dtype.is_float() or numbers.dtype.is_decimal():
        numbers = numbers.cast(pl.Float64).floor()
    return numbers.cast(pl.Int64, strict=False)


def _seconds_from_text(texts: pl.Series) -> pl.Series:
    seconds = texts.cast(pl.Int64, strict=False)
    if seconds.null_count():
        seconds = seconds.fill_null(_whole(texts.cast(pl.Float64, strict=False)))
    if seconds.null_count():
        for pattern in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.fZ", "%Y-%m-%dT%H:%M:%S%.f"):
            seconds = seconds.fill_null(texts.str.to_datetime(pattern, strict=False).dt.epoch("s"))
        seconds = seconds.fill_null(texts.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime).dt.epoch("s"))
    return seconds


def _refuse(chunk: Chunk, name: str, wrong: pl.Series, constraint: str) -> None:
    """Raise for the first row where `wrong` is true."""
    row = wrong.arg_max() if wrong.any() else None
    if row is not None:
        raise chunk.fault(row, name, constraint)
