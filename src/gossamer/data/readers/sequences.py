"""Series from a table with a row per step: whose it is, when, and what was observed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from jaxtyping import Float64

from gossamer.data.readers.columns import find_roles, id_column, time_column
from gossamer.data.sequences import Sequences
from gossamer.data.share import Gather, alone
from gossamer.data.tables.chunk import Chunk, Table
from gossamer.data.tables.opening import open_table
from gossamer.data.vocabulary import Vocabulary

# Compared in lower case and without punctuation, as the names of interactions' columns are.
SEQUENCE_NAMES = {
    "sequence": ("sequence", "sequenceid", "series", "seriesid", "user", "userid", "id", "sessionid", "customerid"),
    "time": ("time", "timestamp", "step", "date", "datetime", "day", "t"),
    "category": ("category", "event", "action", "symbol"),
    "state": ("state", "phase", "truestate"),
}
Places: TypeAlias = Callable[[int], str]  # where a row of the table stood
FEATURE_PREFIX = "feature"  # columns that begin so describe the whole series


def read_sequences(
    source: Any,
    *,
    columns: Mapping[str, str | int | None] | None = None,
    values: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
) -> Sequences:
    """Read a table (.csv, .tsv, .parquet, or one in memory) with a row per step into series.

    `columns` names the columns "sequence" (whose step it is), "time" (it must grow within a series; without one, rows
    are in order), "state" (true states, 0, 1, 2 …) and "category" (one event per step); usual names are recognised.
    Without a column of categories, `values` names the columns of numbers, all that are left by default. An empty field
    or NaN is a missing value; a step may be missing whole. Rows of different series may alternate. Only the order of
    times counts, not how far apart they are.

    `features` are numbers that describe a whole series: columns of this table that are the same in all its rows (those
    that begin with "feature" by default), or the path of another table with a row per series, its id first.
    """
    return sequences_of(open_table(source), columns=columns, values=values, features=features)


def sequences_of(
    table: Table,
    *,
    columns: Mapping[str, str | int | None] | None = None,
    values: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    gather: Gather = alone,
) -> Sequences:
    """Read an open table, or what a process sees of one; `gather` lets processes agree on the categories."""
    roles = find_roles(table, columns, SEQUENCE_NAMES, required=("sequence",))
    own_features, other = _feature_columns(table, features)
    taken = {*roles.values(), *own_features}
    value_columns = [] if "category" in roles else _value_columns(table, values, taken)
    if "category" in roles and values is not None:
        raise ValueError(f"values must be left out where a column holds categories, got {values!r}")
    steps, places = _read_steps(table, roles, value_columns, own_features)
    if len(steps) == 0:
        raise ValueError(f"{table.name} must have at least one step, got none")
    names = steps["sequence"].unique(maintain_order=True)
    steps = steps.join(pl.DataFrame({"sequence": names, "number": np.arange(len(names))}), on="sequence")
    steps = steps.sort(["number", "row"])
    _check_times(steps, places)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(steps["number"].to_numpy(), minlength=len(names)))])
    vocabulary = Vocabulary(names)
    if other is not None:
        described: np.ndarray | None = read_series_features(other, vocabulary, table.name)
    else:
        described = _own_features(steps, own_features, offsets, places) if own_features else None
    events, kinds = _observations(steps, value_columns, gather)
    return Sequences(
        events,
        offsets,
        features=described,
        states=steps["state"].to_numpy() if "state" in roles else None,
        vocabulary=kinds,
        names=vocabulary,
    )


def read_series_features(source: Any, names: Vocabulary, of: str = "the series") -> Float64[np.ndarray, "B F"]:
    """Read a table whose first column are ids of series and whose others are numbers, in the order of `names`."""
    table = open_table(source)
    ids, rows = [], []
    for chunk in table.chunks(table.columns):
        ids += id_column(chunk, table.columns[0]).to_list()
        rows.append(np.stack([_numbers(chunk, name) for name in table.columns[1:]], axis=1))
    if len(table.columns) < 2 or not ids:
        raise ValueError(f"{table.name} must have ids and at least one column of numbers, got {table.columns!r}")
    found = Vocabulary(ids).find(names.ids)
    if (found < 0).any():
        raise ValueError(f"{table.name} must describe every series of {of}, got none of {names[int(found.argmin())]!r}")
    described: np.ndarray = np.concatenate(rows)[found]
    if np.isnan(described).any():
        row, column = np.argwhere(np.isnan(described))[0]
        raise ValueError(
            f"{table.name}: {table.columns[1 + column]} must be a number for {names[int(row)]!r}, got nothing"
        )
    return described


def _feature_columns(table: Table, features: str | Sequence[str] | None) -> tuple[list[str], str | None]:
    if isinstance(features, str | os.PathLike) and "." in os.fspath(features):
        return [], os.fspath(features)
    if features is None:
        return [name for name in table.columns if name.lower().startswith(FEATURE_PREFIX)], None
    return _named("features", features, table), None


def _value_columns(table: Table, values: str | Sequence[str] | None, taken: set[str]) -> list[str]:
    if values is not None:
        named = _named("values", values, table)
        if set(named) & taken:
            raise ValueError(f"values must be columns without another role, got {sorted(set(named) & taken)!r}")
        return named
    left = [name for name in table.columns if name not in taken]
    if not left:
        raise ValueError(
            f"{table.name} must have a column of values or of categories, got the columns {table.columns!r}"
        )
    return left


def _named(what: str, asked: str | Sequence[str], table: Table) -> list[str]:
    names = asked.split(",") if isinstance(asked, str) else list(asked)
    for name in names:
        if name not in table.columns:
            raise ValueError(f"{what} must be columns of {table.name}, got {name!r}; it has {table.columns!r}")
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"{what} must be at least one column, each once, got {asked!r}")
    return names


def _read_steps(
    table: Table, roles: Mapping[str, str], values: list[str], features: list[str]
) -> tuple[pl.DataFrame, Places]:
    frames, chunks, begin = [], [], 0
    for chunk in table.chunks([*dict.fromkeys([*roles.values(), *values, *features])]):
        size = len(chunk.frame)
        chunks.append((begin, chunk))
        read: dict[str, Any] = {
            "row": np.arange(begin, begin + size),
            "sequence": id_column(chunk, roles["sequence"]),
            "time": _times(chunk, roles["time"]) if "time" in roles else np.arange(begin, begin + size, dtype=float),
        }
        if "category" in roles:
            read["category"] = _categories(chunk, roles["category"])
        if "state" in roles:
            read["state"] = _states(chunk, roles["state"])
        read |= {f"value {name}": _numbers(chunk, name) for name in values}
        read |= {f"feature {name}": _numbers(chunk, name) for name in features}
        frames.append(pl.DataFrame(read))
        begin += size

    def place(row: int) -> str:
        start, chunk = next((start, chunk) for start, chunk in reversed(chunks) if start <= row)
        return chunk.place(row - start)

    return (pl.concat(frames) if frames else pl.DataFrame()), place


def _times(chunk: Chunk, name: str) -> np.ndarray:
    series = chunk.frame[name]
    if series.dtype == pl.String or series.dtype.is_numeric():
        numbers = series.cast(pl.Float64, strict=False)
        if numbers.is_finite().fill_null(False).all():
            return numbers.to_numpy()
    return time_column(chunk, name).astype(np.float64)


def _categories(chunk: Chunk, name: str) -> pl.Series:
    texts = chunk.frame[name].cast(pl.String)
    return pl.select(pl.when(texts == "").then(None).otherwise(texts)).to_series()


def _numbers(chunk: Chunk, name: str) -> np.ndarray:
    series = chunk.frame[name]
    texts = series.cast(pl.String).str.strip_chars()
    is_missing = texts.is_null() | texts.str.to_lowercase().is_in(["", "nan", "na", "null"])
    numbers = (texts if series.dtype == pl.String else series).cast(pl.Float64, strict=False)
    wrong = ~is_missing & ~numbers.is_finite().fill_null(False)
    if wrong.any():
        raise chunk.fault(int(wrong.arg_max() or 0), name, "a finite number, or empty where it is missing")
    return np.where(is_missing.to_numpy(), np.nan, numbers.fill_null(np.nan).to_numpy())


def _states(chunk: Chunk, name: str) -> np.ndarray:
    numbers = chunk.frame[name].cast(pl.String).cast(pl.Int64, strict=False)
    wrong = numbers.is_null() | (numbers < 0)
    if wrong.any():
        raise chunk.fault(int(wrong.arg_max() or 0), name, "a state 0, 1, 2 …")
    return numbers.to_numpy()


def _check_times(steps: pl.DataFrame, places: Places) -> None:
    same = steps["number"].to_numpy()[1:] == steps["number"].to_numpy()[:-1]
    gaps = np.diff(steps["time"].to_numpy())
    wrong = np.flatnonzero(same & (gaps <= 0))
    if not len(wrong):
        return
    first = int(wrong[0])
    before, here = (steps["time"][place] for place in (first, first + 1))
    what = "twice" if here == before else f"after {before:g}"
    advice = "add up or drop repeated steps" if here == before else "sort the rows by time"
    where, whose = places(steps["row"][first + 1]), steps["sequence"][first]
    raise ValueError(f"{where}: times of {whose!r} must grow, got {here:g} {what}; {advice}")


def _own_features(steps: pl.DataFrame, names: list[str], offsets: np.ndarray, places: Places) -> np.ndarray:
    table = steps.select([f"feature {name}" for name in names]).to_numpy()
    firsts = np.repeat(table[offsets[:-1]], np.diff(offsets), axis=0)
    wrong = np.argwhere(~(table == firsts))
    if len(wrong):
        row, column = map(int, wrong[0])
        got = "nothing" if np.isnan(table[row, column]) else f"{table[row, column]:g} after {firsts[row, column]:g}"
        where, whose = places(steps["row"][row]), steps["sequence"][row]
        raise ValueError(f"{where}: {names[column]} must be one number for all of {whose!r}, got {got}")
    return np.asarray(table[offsets[:-1]])


def _observations(steps: pl.DataFrame, values: list[str], gather: Gather) -> tuple[np.ndarray, Vocabulary]:
    if values:
        return steps.select([f"value {name}" for name in values]).to_numpy(), Vocabulary(values)
    named = pl.concat(gather(steps["category"].drop_nulls().unique()))
    kinds = Vocabulary(named.unique().sort())
    if len(kinds) == 0:
        raise ValueError("categories must be named in at least one step, got none")
    found = np.full(len(steps), -1, dtype=np.int64)
    seen = steps["category"].is_not_null().to_numpy()
    found[seen] = kinds.find(steps["category"].filter(seen))
    return found, kinds
