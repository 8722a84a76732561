"""From columns of ids to compressed rows, in two passes and without a sort of the whole table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from gossamer.core.checks import check_choice
from gossamer.data.kernels import merge_repeats, place_in_rows, sort_rows
from gossamer.data.vocabulary import Vocabulary, id_series

DUPLICATE_RULES = ("first", "last", "sum", "error")


class CompressedRows:
    """Compressed rows that are filled chunk by chunk, once the length of every row is known.

    Filling needs the result and one chunk in memory, never the table: that is what lets twenty million rows of
    Parquet become `Interactions` within a small multiple of their final size.
    """

    def __init__(self, row_lengths: np.ndarray, *, has_rating: bool, has_time: bool) -> None:
        self.indptr = np.zeros(len(row_lengths) + 1, dtype=np.int64)
        np.cumsum(row_lengths, out=self.indptr[1:])
        self._cursor = self.indptr[:-1].copy()
        total = int(self.indptr[-1])
        self.indices = np.empty(total, dtype=np.int32)
        self.rating = np.empty(total if has_rating else 0, dtype=np.float32)
        self.time = np.empty(total if has_time else 0, dtype=np.int64)

    def add(self, rows: np.ndarray, columns: np.ndarray, rating: np.ndarray | None, time: np.ndarray | None) -> None:
        """Place one chunk of pairs; chunks come in the order of the table."""
        position = np.empty(len(rows), dtype=np.int64)
        place_in_rows(rows, columns, self._cursor, self.indices, position)
        if rating is not None:
            self.rating[position] = rating
        if time is not None:
            self.time[position] = time

    def finish(self, duplicates: str) -> dict[str, Any]:
        """Sort the rows, merge repeated pairs by the rule and return the arrays of `Interactions`."""
        check_choice("duplicates", duplicates, DUPLICATE_RULES)
        if sort_rows(self.indptr, self.indices, self.rating, self.time):
            if duplicates == "error":
                raise ValueError(
                    "interactions must not repeat a (user, item) pair with duplicates='error', got repeats; "
                    "choose duplicates='first', 'last' or 'sum'"
                )
            has_rating, has_time = len(self.rating) > 0, len(self.time) > 0
            rule = DUPLICATE_RULES.index(duplicates)
            kept = merge_repeats(self.indptr, self.indices, self.rating, self.time, rule)
            # In place: the surplus at the end goes back to the system without a second copy of the arrays.
            self.indices.resize(kept, refcheck=False)
            if has_rating:
                self.rating.resize(kept, refcheck=False)
            if has_time:
                self.time.resize(kept, refcheck=False)
        return {
            "indptr": self.indptr,
            "indices": self.indices,
            "rating": self.rating if len(self.rating) else None,
            "time": self.time if len(self.time) else None,
        }


def compress_pairs(
    users: Any,
    items: Any,
    rating: Any,
    time: Any,
    duplicates: str,
    user_ids: Vocabulary | None,
    item_ids: Vocabulary | None,
) -> dict[str, Any]:
    """Return the fields of `Interactions` from columns in memory; see `Interactions.from_pairs`."""
    user_ids, rows = _encode("users", users, user_ids)
    item_ids, columns = _encode("items", items, item_ids)
    if len(rows) != len(columns):
        raise ValueError(f"users and items must be equally long, got {len(rows)} and {len(columns)}")
    ratings = _checked_column("rating", rating, len(rows), np.float32)
    times = _checked_column("time", time, len(rows), np.int64)
    if duplicates == "sum" and ratings is None:
        ratings = np.ones(len(rows), dtype=np.float32)
    compressed = CompressedRows(
        np.bincount(rows, minlength=len(user_ids)),
        has_rating=ratings is not None,
        has_time=times is not None,
    )
    compressed.add(rows, columns, ratings, times)
    return {"users": user_ids, "items": item_ids, **compressed.finish(duplicates)}


def _encode(name: str, ids: Any, vocabulary: Vocabulary | None) -> tuple[Vocabulary, np.ndarray]:
    series = id_series(name, ids)
    if vocabulary is None:
        vocabulary = Vocabulary(series.unique(maintain_order=True))
    return vocabulary, vocabulary.index_of(series, name)


def _checked_column(name: str, values: Any, count: int, dtype: type[np.generic]) -> np.ndarray | None:
    if values is None:
        return None
    if isinstance(values, pl.Series):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.shape != (count,) or array.dtype.kind not in "iufb":
        raise ValueError(f"{name} must be {count} numbers, got {array.dtype} {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} must be finite, got {array[bad]} at row {bad}")
    return array.astype(dtype, copy=False)
