"""Rows of numbers with labels, one class, or neither, from a table or Weka's ARFF."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gossamer.data.arrays import LabelledArrays
from gossamer.data.readers.arff import read_multilabel
from gossamer.data.share import Gather, alone
from gossamer.data.tables.chunk import Chunk, Table
from gossamer.data.tables.opening import open_table


def read_arrays(
    source: Any, *, labels: str | Sequence[str] | int | None = None, target: str | None = None
) -> LabelledArrays:
    """Read a table (.csv, .tsv, .parquet, one in memory) or an ARFF file: a row per example, its columns are inputs.

    `labels` are columns of whole numbers, 0 or 1 for a label, more for a count: their names (a list, or with commas
    between them), or how many of the last columns; for ARFF also Mulan's XML file. `target` is instead one column with
    the class of each row, whatever it holds. All other columns are inputs and must be numbers without gaps.

    >>> data = read_arrays(pl.DataFrame({"x": [0.5, 2.0], "sad": [1, 0], "gay": [0, 1]}), labels="sad,gay")
    >>> data, data.target_names
    (LabelledArrays(inputs float32 (2, 1), targets (2, 2)), ('sad', 'gay'))
    """
    if isinstance(source, str | os.PathLike) and Path(source).suffix.lower() == ".arff":
        return _read_arff(source, labels, target)
    return arrays_of(open_table(source), labels=labels, target=target)


def arrays_of(
    table: Table,
    *,
    labels: str | Sequence[str] | int | None = None,
    target: str | None = None,
    gather: Gather = alone,
) -> LabelledArrays:
    """Read an open table, or what a process sees of one; `gather` lets processes agree on the classes of `target`."""
    if labels is not None and target is not None:
        raise ValueError(f"labels and target must not both be given, got {labels!r} and {target!r}")
    wanted = [_checked("target", target, table)] if target is not None else _label_columns(labels, table)
    inputs = [name for name in table.columns if name not in wanted]
    if not inputs:
        raise ValueError(f"{table.name} must have a column besides {', '.join(wanted)}, got none")
    rows, targets = [], []
    for chunk in table.chunks(table.columns):
        rows.append(np.stack([_numbers(chunk, name) for name in inputs], axis=1).astype(np.float32))
        if target is not None:
            targets.append(_classes(chunk, target))
        elif wanted:
            targets.append(np.stack([_whole_numbers(chunk, name) for name in wanted], axis=1))
    if not rows:
        raise ValueError(f"{table.name} must have at least one row, got none")
    found = np.concatenate(targets) if targets else None
    if target is not None:
        assert found is not None
        classes = np.unique(_as_numbers(np.concatenate(gather(np.unique(found)))))
        found = np.searchsorted(classes, found.astype(classes.dtype))
        wanted = [str(name) for name in classes]
    return LabelledArrays(np.concatenate(rows), found, tuple(inputs), tuple(wanted) or None)


def _read_arff(
    source: str | os.PathLike[str], labels: str | Sequence[str] | int | None, target: str | None
) -> LabelledArrays:
    if labels is None or target is not None:
        raise ValueError(
            f"labels must say which attributes of {os.fspath(source)} are labels, Mulan's XML, names, or how many of "
            f"the last, got {labels!r}" + (f" and target={target!r}" if target is not None else "")
        )
    if isinstance(labels, str) and not labels.lower().endswith(".xml"):
        labels = labels.split(",")
    return read_multilabel(source, labels=labels)


def _label_columns(labels: str | Sequence[str] | int | None, table: Table) -> list[str]:
    if labels is None:
        return []
    if isinstance(labels, int):
        if isinstance(labels, bool) or not 1 <= labels < len(table.columns):
            raise ValueError(f"labels must be 1 to {len(table.columns) - 1} of the last columns, got {labels!r}")
        return list(table.columns[-labels:])
    names = labels.split(",") if isinstance(labels, str) else list(labels)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"labels must be at least one column, each once, got {labels!r}")
    return [_checked("labels", name, table) for name in names]


def _checked(what: str, name: str, table: Table) -> str:
    if name not in table.columns:
        raise ValueError(f"{what} must be of {table.name}, got {name!r}; it has {list(table.columns)!r}")
    return name


def _numbers(chunk: Chunk, name: str) -> np.ndarray:
    series = chunk.frame[name]
    texts = series.str.strip_chars() if series.dtype == pl.String else series
    numbers = texts.cast(pl.Float64, strict=False)
    is_wrong = ~numbers.is_finite().fill_null(False)
    if is_wrong.any():
        raise chunk.fault(int(is_wrong.arg_max() or 0), name, "a finite number")
    return numbers.to_numpy()


def _whole_numbers(chunk: Chunk, name: str) -> np.ndarray:
    numbers = _numbers(chunk, name)
    is_wrong = (numbers < 0) | (numbers != np.round(numbers))
    if is_wrong.any():
        raise chunk.fault(int(is_wrong.argmax()), name, "a label, 0 or 1, or a count")
    return numbers.astype(np.int64)


def _as_numbers(classes: np.ndarray) -> np.ndarray:
    """Return classes that are written as whole numbers as such, so that 10 comes after 9."""
    try:
        return classes.astype(np.int64)
    except (ValueError, TypeError):
        return classes.astype(str)


def _classes(chunk: Chunk, name: str) -> np.ndarray:
    series = chunk.frame[name]
    is_missing = series.is_null() | (series.cast(pl.String) == "")
    if is_missing.any():
        raise chunk.fault(int(is_missing.arg_max() or 0), name, "a class")
    return series.cast(pl.String).to_numpy() if series.dtype == pl.String else series.to_numpy()
