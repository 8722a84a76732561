"""What all containers share: read-only arrays, row selection, ragged slicing and a fingerprint of content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import polars as pl
from jaxtyping import Int64

from gossamer.data.vocabulary import Vocabulary

Rows = slice | Sequence[int] | np.ndarray


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to; the caller's own array stays as it was."""
    view = array.view()
    view.flags.writeable = False
    return view


def row_numbers(rows: Rows, count: int) -> Int64[np.ndarray, " n"]:
    """Turn a slice, a mask or indices into non-negative row numbers, checked against `count`."""
    if isinstance(rows, slice):
        return np.arange(count, dtype=np.int64)[rows]
    chosen = np.asarray(rows)
    if chosen.dtype == bool:
        if chosen.shape != (count,):
            raise ValueError(f"rows must be a mask of length {count}, got shape {chosen.shape}")
        return np.flatnonzero(chosen)
    if chosen.size == 0:
        return np.empty(0, dtype=np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(f"rows must be a slice, a mask or a list of integers, got {rows!r}")
    if chosen.min() < -count or chosen.max() >= count:
        worst = chosen.max() if chosen.max() >= count else chosen.min()
        raise ValueError(f"rows must lie in 0 … {count - 1}, got {worst}")
    return np.where(chosen < 0, chosen + count, chosen).astype(np.int64)


def ragged_take(
    offsets: np.ndarray, rows: np.ndarray
) -> tuple[Int64[np.ndarray, " n_plus_1"], Int64[np.ndarray, " m"]]:
    """Return the offsets of the chosen rows and the flat positions of their elements.

    >>> offsets, positions = ragged_take(np.array([0, 2, 3, 6]), np.array([2, 0]))
    >>> offsets.tolist(), positions.tolist()
    ([0, 3, 5], [3, 4, 5, 0, 1])
    """
    lengths = offsets[rows + 1] - offsets[rows]
    chosen = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=chosen[1:])
    positions = np.arange(chosen[-1]) + np.repeat(offsets[rows] - chosen[:-1], lengths)
    return chosen, positions


def check_offsets(name: str, offsets: np.ndarray, total: int) -> np.ndarray:
    """Check ragged offsets: int64, starting at 0, never falling, ending at `total`."""
    array = np.asarray(offsets)
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a non-empty vector of integers, got {array.dtype} {array.shape}")
    array = array.astype(np.int64, copy=False)
    if array[0] != 0 or array[-1] != total or np.any(np.diff(array) < 0):
        raise ValueError(
            f"{name} must start at 0, never fall and end at {total}, got first {array[0]}, last {array[-1]}"
        )
    return array


def check_labels(labels: np.ndarray | None, names: Sequence[str] | None, count: int) -> np.ndarray | None:
    """Check one class number per observation, against the class names where there are some."""
    if labels is None:
        return None
    array = np.asarray(labels)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ValueError(f"labels must be {count} integers, got {array.dtype} {array.shape}")
    if count and (array.min() < 0 or (names is not None and array.max() >= len(names))):
        limit = "…" if names is None else str(len(names) - 1)
        worst = array.min() if array.min() < 0 else array.max()
        raise ValueError(f"labels must lie in 0 … {limit}, got {worst}")
    return array.astype(np.int32, copy=False)


def fingerprint(*parts: np.ndarray | pl.DataFrame | Vocabulary | Sequence[str] | None) -> str:
    """Return a SHA-256 over the content of arrays, tables and vocabularies, the same on every machine."""
    digest = hashlib.sha256()
    for part in parts:
        if part is None:
            digest.update(b"none;")
        elif isinstance(part, np.ndarray):
            digest.update(f"array {part.dtype.str} {part.shape};".encode())
            digest.update(np.ascontiguousarray(part).data)
        elif isinstance(part, pl.DataFrame):
            digest.update(part.write_json().encode())
        else:
            for element in part:
                digest.update(f"{element!r},".encode())
    return digest.hexdigest()
