"""The two-way map between the ids people use and the row numbers arrays use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl
from jaxtyping import Int64


class Vocabulary:
    """Ordered, unique, immutable ids, all strings or all integers; the position of an id is its index.

    >>> vocabulary = Vocabulary(["ham", "eggs"])
    >>> vocabulary.index_of(["eggs"]).tolist(), vocabulary[0]
    ([1], 'ham')
    """

    __slots__ = ("_lookup", "ids")

    ids: pl.Series

    def __init__(self, ids: Iterable[str] | Iterable[int] | np.ndarray | pl.Series) -> None:
        self.ids = _unique_ids(ids)
        # Built at the first look-up: most slices of a container never look anything up.
        self._lookup: pl.DataFrame | None = None

    @classmethod
    def numbered(cls, count: int) -> Vocabulary:
        """Return the integer ids 0 … count-1, for data that has no ids of its own."""
        return cls(np.arange(count, dtype=np.int64))

    @property
    def is_integer(self) -> bool:
        """Whether the ids are integers rather than strings."""
        return self.ids.dtype == pl.Int64

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str | int]:
        return iter(self.ids)

    def __getitem__(self, index: int) -> str | int:
        identifier: str | int = self.ids[int(index)]
        return identifier

    def __contains__(self, identifier: object) -> bool:
        return isinstance(identifier, str | int) and bool(self.find([identifier])[0] >= 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or (self.ids.dtype == other.ids.dtype and self.ids.equals(other.ids))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(identifier) for identifier in self.ids[:3])
        return f"Vocabulary([{shown}{', …' if len(self) > 3 else ''}], size={len(self)})"

    def find(self, ids: Iterable[str | int] | np.ndarray | pl.Series) -> Int64[np.ndarray, " n"]:
        """Return the index of every id, -1 where it is unknown.

        Ids of the other kind are converted where that is unambiguous, so the "12" of a command line finds 12.
        """
        wanted = ids if isinstance(ids, pl.Series) else pl.Series("id", _as_plain(ids), strict=False)
        wanted = wanted.cast(self.ids.dtype, strict=False).alias("id")
        if self._lookup is None:
            self._lookup = pl.DataFrame(
                {"id": self.ids, "index": np.arange(len(self.ids), dtype=np.int64)},
            )
        found = wanted.to_frame().join(self._lookup, on="id", how="left", maintain_order="left")
        return found["index"].fill_null(-1).to_numpy()

    def index_of(self, ids: Iterable[str | int] | np.ndarray | pl.Series, name: str = "id") -> Int64[np.ndarray, " n"]:
        """Return the index of every id; the first unknown one is named in a ValueError."""
        ids = ids if isinstance(ids, np.ndarray | pl.Series) else list(ids)
        indices = self.find(ids)
        if len(indices) and indices.min() < 0:
            unknown = ids[int(np.argmin(indices))]
            example = f", for example {self[0]!r}" if len(self) else ""
            raise ValueError(f"{name} must be one of the {len(self)} known ones{example}, got {unknown!r}")
        return indices

    def take(self, indices: np.ndarray) -> Vocabulary:
        """Return the sub-vocabulary at `indices`, in that order."""
        chosen = Vocabulary.__new__(Vocabulary)
        chosen.ids = self.ids[np.asarray(indices)]
        chosen._lookup = None
        if chosen.ids.n_unique() != len(chosen.ids):
            raise ValueError("indices must be unique, got repeated ones")
        return chosen


def id_series(name: str, ids: Iterable[str] | Iterable[int] | np.ndarray | pl.Series) -> pl.Series:
    """Return ids, repeated or not, as a String or Int64 series without missing values."""
    try:
        series = ids if isinstance(ids, pl.Series) else pl.Series(_as_plain(ids))
    except (TypeError, OverflowError):  # polars: an unexpected value while building a Series
        raise ValueError(f"{name} must be all strings or all integers, got a mixture") from None
    if series.dtype in (pl.Categorical, pl.Enum, pl.Null):
        series = series.cast(pl.String)
    if series.dtype.is_integer():
        given, series = series, series.cast(pl.Int64, strict=False)
        if series.null_count() > given.null_count():
            too_large = given.filter(series.is_null())[0]
            raise ValueError(f"{name} must fit in 64 bits or be strings, got {too_large}")
    if series.null_count():
        raise ValueError(f"{name} must not be missing, got a missing id at row {series.is_null().arg_max()}")
    if series.dtype not in (pl.String, pl.Int64):
        raise ValueError(f"{name} must be all strings or all integers, got {series.dtype}")
    return series.alias("id").rechunk()


def _as_plain(ids: Iterable[str | int] | np.ndarray) -> np.ndarray | list[str | int]:
    return ids if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" else list(ids)


def _unique_ids(ids: Iterable[str] | Iterable[int] | np.ndarray | pl.Series) -> pl.Series:
    series = id_series("ids", ids)
    if series.n_unique() != len(series):
        repeated = series.filter(series.is_duplicated())[0]
        raise ValueError(f"ids must be unique, got {repeated!r} more than once")
    return series
