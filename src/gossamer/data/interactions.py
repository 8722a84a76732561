"""Who did what: users × items, with optional ratings and times, as compressed rows."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Int32
from scipy import sparse

from gossamer.core.checks import check_choice
from gossamer.data.compressed import compress_pairs
from gossamer.data.content import Rows, check_offsets, fingerprint, ragged_take, read_only, row_numbers
from gossamer.data.kernels import first_fault
from gossamer.data.shown import NUM_PARTS, NUM_ROWS, Shown, ShownParts, join_first
from gossamer.data.vocabulary import Vocabulary

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Interactions(Shown):
    """Immutable users × items in compressed rows: `indices[indptr[u]:indptr[u + 1]]` are user u's items.

    Items rise within a row and occur once. `rating` doubles as a weight or a count; `time` is in seconds.
    Feature tables have one row per user or item, in vocabulary order. Arrays are shared, never copied, by
    `matrix` and by slices of whole ranges.

    >>> data = Interactions.from_pairs(["ann", "bob", "ann"], ["tea", "tea", "jam"])
    >>> data.shape, data.nnz, data[:1].matrix().toarray().tolist()
    ((2, 2), 3, [[1.0, 1.0]])
    """

    users: Vocabulary
    items: Vocabulary
    indptr: np.ndarray
    indices: np.ndarray
    rating: np.ndarray | None = None
    time: np.ndarray | None = None
    user_features: pl.DataFrame | None = None
    item_features: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        indices = np.asarray(self.indices)
        if indices.ndim != 1 or indices.dtype.kind not in "iu":
            raise ValueError(f"indices must be a vector of integers, got {indices.dtype} {indices.shape}")
        indptr = check_offsets("indptr", self.indptr, len(indices))
        if len(indptr) != len(self.users) + 1:
            raise ValueError(
                f"indptr must have one entry per user and one more ({len(self.users) + 1}), got {len(indptr)}"
            )
        fault = first_fault(indptr, indices, len(self.items))
        if fault >= 0:
            row = int(np.searchsorted(indptr, fault, side="right")) - 1
            raise ValueError(
                f"indices must rise within a row and lie in 0 … {len(self.items) - 1}, "
                f"got {indices[fault]} for user {self.users[row]!r}"
            )
        object.__setattr__(self, "indptr", read_only(indptr))
        object.__setattr__(self, "indices", read_only(indices.astype(np.int32, copy=False)))
        object.__setattr__(self, "rating", self._checked_values("rating", self.rating, np.float32))
        object.__setattr__(self, "time", self._checked_values("time", self.time, np.int64))
        self._check_features("user_features", self.user_features, len(self.users))
        self._check_features("item_features", self.item_features, len(self.items))

    def _checked_values(self, name: str, values: np.ndarray | None, dtype: type[np.generic]) -> np.ndarray | None:
        if values is None:
            return None
        array = np.asarray(values)
        if array.shape != (self.nnz,) or array.dtype.kind not in "iufb":
            raise ValueError(f"{name} must be {self.nnz} numbers, got {array.dtype} {array.shape}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            bad = int(np.argmin(np.isfinite(array)))
            raise ValueError(f"{name} must be finite, got {array[bad]} at interaction {bad}")
        return read_only(array.astype(dtype, copy=False))

    @staticmethod
    def _check_features(name: str, table: pl.DataFrame | None, count: int) -> None:
        if table is not None and table.height != count:
            raise ValueError(f"{name} must have {count} rows, one per id, got {table.height}")

    @classmethod
    def from_pairs(
        cls,
        users: Any,
        items: Any,
        rating: Any = None,
        time: Any = None,
        *,
        duplicates: str = "last",
        user_ids: Vocabulary | None = None,
        item_ids: Vocabulary | None = None,
        user_features: pl.DataFrame | None = None,
        item_features: pl.DataFrame | None = None,
    ) -> Interactions:
        """Build from two equally long columns of ids, in any order.

        `duplicates` says what happens to a pair that occurs twice: keep the "last" (by time where there is
        time, else by position) or the "first", "sum" the ratings (a pair without rating counts 1), or "error".
        Vocabularies, where given, fix the order; an id outside them is an error.
        """
        return cls(
            **compress_pairs(users, items, rating, time, duplicates, user_ids, item_ids),
            user_features=user_features,
            item_features=item_features,
        )

    @property
    def num_users(self) -> int:
        """N, the number of users, with or without interactions."""
        return len(self.users)

    @property
    def num_items(self) -> int:
        """M, the number of items, with or without interactions."""
        return len(self.items)

    @property
    def nnz(self) -> int:
        """The number of different (user, item) pairs."""
        return len(self.indices)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of users, number of items)."""
        return len(self.users), len(self.items)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, without ids and features."""
        arrays = (self.indptr, self.indices, self.rating, self.time)
        return sum(array.nbytes for array in arrays if array is not None)

    @cached_property
    def user_counts(self) -> np.ndarray:
        """The number of items of every user."""
        return np.diff(self.indptr)

    @cached_property
    def item_counts(self) -> np.ndarray:
        """The number of users of every item."""
        return np.bincount(self.indices, minlength=len(self.items))

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        extras = [name for name in ("rating", "time") if getattr(self, name) is not None]
        described = f" with {' and '.join(extras)}" if extras else ""
        return f"Interactions({len(self.users):,} users × {len(self.items):,} items, {self.nnz:,} pairs{described})"

    def matrix(self, values: str = "binary") -> sparse.csr_array:
        """Return the float32 CSR matrix with ones ("binary") or ratings ("rating"); indices are shared."""
        check_choice("values", values, ["binary", "rating"])
        if values == "rating":
            if self.rating is None:
                raise ValueError("values must be 'binary' for interactions without rating, got 'rating'")
            data = self.rating
        else:
            data = np.ones(self.nnz, dtype=np.float32)
        # scipy insists on one index type; int32 halves the memory wherever the pairs can be counted with it.
        indptr = self.indptr.astype(np.int32) if self.nnz < 2**31 else self.indptr
        matrix = sparse.csr_array((data, self.indices, indptr), shape=self.shape)
        matrix.has_canonical_format = True
        return matrix

    def pairs(self) -> tuple[Int32[np.ndarray, " nnz"], Int32[np.ndarray, " nnz"]]:
        """Return the user index and the item index of every pair."""
        return np.repeat(np.arange(len(self.users), dtype=np.int32), self.user_counts), self.indices

    def __getitem__(self, rows: Rows) -> Interactions:
        """Return a subset of the users, with the same items; a range of users shares memory."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            offsets = self.indptr[start : max(start, stop) + 1] - self.indptr[start]
            part: Any = slice(self.indptr[start], self.indptr[max(start, stop)])
            chosen = np.arange(start, max(start, stop))
        else:
            chosen = row_numbers(rows, len(self))
            offsets, part = ragged_take(self.indptr, chosen)
        return Interactions(
            users=self.users.take(chosen),
            items=self.items,
            indptr=offsets,
            indices=self.indices[part],
            rating=None if self.rating is None else self.rating[part],
            time=None if self.time is None else self.time[part],
            user_features=None if self.user_features is None else self.user_features[chosen],
            item_features=self.item_features,
        )

    def keep(self, mask: np.ndarray) -> Interactions:
        """Return the interactions where `mask` is true, with the same users and items."""
        if mask.shape != (self.nnz,) or mask.dtype != bool:
            raise ValueError(f"mask must be {self.nnz} booleans, got {mask.dtype} {mask.shape}")
        kept_before = np.zeros(self.nnz + 1, dtype=np.int64)
        np.cumsum(mask, out=kept_before[1:])
        return replace(
            self,
            indptr=kept_before[self.indptr],
            indices=self.indices[mask],
            rating=None if self.rating is None else self.rating[mask],
            time=None if self.time is None else self.time[mask],
        )

    def take_items(self, items: np.ndarray) -> Interactions:
        """Return the interactions with a subset of the items (indices), renumbered in the given order."""
        chosen = self.items.take(items)
        features = None if self.item_features is None else self.item_features[items]
        return self._with_columns(chosen, chosen.find(self.items.ids), features)

    def aligned_to(self, items: Vocabulary) -> Interactions:
        """Return the same history over another item vocabulary; items it does not know are dropped and logged."""
        if items is self.items or items == self.items:
            return self
        new_columns = items.find(self.items.ids)
        lost = int(np.count_nonzero(new_columns[self.indices] < 0))
        if lost:
            logger.warning("%d of %d interactions dropped: their items are unknown to the model", lost, self.nnz)
        return self._with_columns(items, new_columns, None)

    def _with_columns(
        self, items: Vocabulary, new_columns: np.ndarray, item_features: pl.DataFrame | None
    ) -> Interactions:
        """Renumber the columns (-1 drops one) and restore the order within rows."""
        columns = new_columns[self.indices]
        kept = self.keep(columns >= 0)
        columns = columns[columns >= 0]
        rows = np.repeat(np.arange(len(self.users)), kept.user_counts)
        order = np.lexsort((columns, rows))
        return replace(
            kept,
            items=items,
            indices=columns[order].astype(np.int32),
            rating=None if kept.rating is None else kept.rating[order],
            time=None if kept.time is None else kept.time[order],
            item_features=item_features,
        )

    def describe(self) -> dict[str, Any]:
        """Return the numbers a person wants to see first."""
        cells = max(1, len(self.users) * len(self.items))
        summary: dict[str, Any] = {
            "users": len(self.users),
            "items": len(self.items),
            "interactions": self.nnz,
            "density": self.nnz / cells,
            "median_per_user": float(np.median(self.user_counts)) if len(self.users) else 0.0,
            "median_per_item": float(np.median(self.item_counts)) if len(self.items) else 0.0,
        }
        if self.rating is not None and self.nnz:
            summary["mean_rating"] = float(self.rating.mean())
        if self.time is not None and self.nnz:
            summary["first_time"], summary["last_time"] = int(self.time.min()), int(self.time.max())
        return summary

    def _first_rows(self) -> list[dict[str, Any]]:
        rows = []
        for number, user in enumerate(self[:NUM_ROWS].users):
            start, stop = self.indptr[number], self.indptr[number + 1]
            names = [self.items[item] for item in self.indices[start : min(stop, start + NUM_PARTS + 1)]]
            rows.append({"user": user, "items": join_first(names)})
        return rows

    def fingerprint(self) -> str:
        """Return a SHA-256 of ids, pairs, ratings and times."""
        return fingerprint(self.users, self.items, self.indptr, self.indices, self.rating, self.time)


@dataclass(frozen=True)
class HeldOut(Shown):
    """What is known of some users (`history`) and what is to be predicted (`target`): same users, same items."""

    history: Interactions
    target: Interactions

    def __post_init__(self) -> None:
        if self.history.users != self.target.users or self.history.items != self.target.items:
            raise ValueError("target must have the users and items of history, got others")

    def __len__(self) -> int:
        return len(self.history)

    def describe(self) -> dict[str, Any]:
        """Return how much is known and how much is to be predicted."""
        return {"users": len(self), "history": self.history.nnz, "target": self.target.nnz}

    def over_items(self, known: Vocabulary) -> HeldOut:
        """Return the same over a model's items, followed by whatever other items are held out.

        The model's item indices keep their meaning, and a target that it cannot know stays there to be missed.
        """
        own = self.history.items
        if own == known:
            return self
        everything = Vocabulary(pl.concat([known.ids, own.ids.filter(known.find(own.ids) < 0)]))
        return HeldOut(self.history.aligned_to(everything), self.target.aligned_to(everything))


@dataclass(frozen=True)
class Split(ShownParts):
    """Training data and what is held out of it; `description` says how it was made, for the result record."""

    train: Interactions
    valid: HeldOut | None
    test: HeldOut
    description: dict[str, Any]
