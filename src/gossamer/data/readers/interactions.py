"""From a table of any size to `Interactions` in two passes: count first, then place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Int64

from gossamer.core.checks import check_choice
from gossamer.data.compressed import DUPLICATE_RULES, CompressedRows
from gossamer.data.interactions import Interactions
from gossamer.data.readers.columns import find_roles, id_column, rating_column, time_column
from gossamer.data.tables.chunk import Chunk, Table
from gossamer.data.tables.opening import open_table
from gossamer.data.text_files import readable
from gossamer.data.vocabulary import Vocabulary


def read_interactions(
    source: Any,
    *,
    columns: Mapping[str, str | int | None] | None = None,
    format: str | None = None,
    header: bool | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    duplicates: str = "last",
    user_ids: Vocabulary | None = None,
    item_ids: Vocabulary | None = None,
) -> Interactions:
    """Read users, items and, where there are such columns, ratings and times.

    `source` is a path, or a polars, pandas or Arrow table. `format` is taken from the ending (`.csv`, `.tsv`,
    `.dat`, `.inter`, `.parquet`; text also with `.gz`) or said: "csv", "tsv", "parquet", "dat" (MovieLens,
    `user::item::rating::time`, no header, latin-1), "inter" (RecBole) or "adjacency" (`user item item …`).

    `columns` maps "user", "item", "rating" and "time" to names, or to positions counted from 0; what it does not
    mention is recognised by its usual names (user_id, movieId, timestamp …), and None leaves a column out.
    Without a header the columns are user, item, rating and time in this order. Ids may be strings or integers;
    the ids of a text file become integers where all of them are written as plain integers. Times are seconds,
    numbers as they stand or dates. `duplicates`, `user_ids` and `item_ids` are those of `Interactions.from_pairs`.

    The table is read twice, in chunks, and never held as a whole.

    >>> table = pl.DataFrame({"userId": ["ann", "bob"], "movieId": [7, 9], "timestamp": [1, 2]})
    >>> read_interactions(table)
    Interactions(2 users × 2 items, 2 pairs with time)
    """
    table = open_table(source, format=format, header=header, separator=separator, encoding=encoding)
    return interactions_of(table, columns=columns, duplicates=duplicates, user_ids=user_ids, item_ids=item_ids)


def interactions_of(
    table: Table,
    *,
    columns: Mapping[str, str | int | None] | None = None,
    duplicates: str = "last",
    user_ids: Vocabulary | None = None,
    item_ids: Vocabulary | None = None,
) -> Interactions:
    """Read an open table, or what a process sees of one; arguments are those of `read_interactions`."""
    check_choice("duplicates", duplicates, DUPLICATE_RULES)
    with readable(table.name):
        roles = find_roles(table, columns)
        users, items = _IdCounter("user", user_ids), _IdCounter("item", item_ids)
        for chunk in table.chunks([roles["user"], roles["item"]]):
            users.count(chunk, roles["user"])
            items.count(chunk, roles["item"])
        if not users.total:
            raise ValueError(f"{table.name} must have at least one interaction, got none")
        compressed = _place(table, roles, users, items, duplicates)
    return Interactions(
        users=users.vocabulary(numbers_from_text=table.is_text),
        items=items.vocabulary(numbers_from_text=table.is_text),
        **compressed,
    )


class _IdCounter:
    """Grows a vocabulary in order of first appearance and counts the rows of each id."""

    def __init__(self, role: str, fixed: Vocabulary | None) -> None:
        self.role = role
        self.fixed = fixed
        self.total = 0
        self.lengths = np.zeros(0 if fixed is None else len(fixed), dtype=np.int64)
        self._known: pl.DataFrame | None = None
        self._coding: Vocabulary | None = fixed

    def count(self, chunk: Chunk, column: str) -> None:
        """Take the ids of one chunk into account."""
        ids = id_column(chunk, column)
        self.total += len(ids)
        if self.fixed is not None:
            self.lengths += np.bincount(self.codes(chunk, column), minlength=len(self.lengths))
            return
        found = ids.to_frame().group_by("id", maintain_order=True).agg(pl.len().alias("rows"))
        if self._known is None:
            self._known = pl.DataFrame(schema={"id": ids.dtype, "index": pl.Int64})
        found = found.join(self._known, on="id", how="left", maintain_order="left")
        is_new = found["index"].is_null()
        new = found.filter(is_new).select("id")
        first = len(self.lengths)
        indices = pl.Series("index", np.arange(first, first + new.height, dtype=np.int64))
        self._known = pl.concat([self._known, new.with_columns(indices)])
        self.lengths = np.concatenate([self.lengths, found.filter(is_new)["rows"].to_numpy().astype(np.int64)])
        seen = found.filter(~is_new)
        self.lengths[seen["index"].to_numpy()] += seen["rows"].to_numpy()

    def codes(self, chunk: Chunk, column: str) -> Int64[np.ndarray, " n"]:
        """Return the index of every id of a chunk."""
        if self._coding is None:
            assert self._known is not None  # codes are asked for after everything was counted
            self._coding, self._known = Vocabulary(self._known["id"]), None
        codes = self._coding.find(id_column(chunk, column))
        if len(codes) and codes.min() < 0:
            raise chunk.fault(int(codes.argmin()), column, f"one of the {len(self._coding)} known {self.role} ids")
        return codes

    def vocabulary(self, *, numbers_from_text: bool) -> Vocabulary:
        """Return the ids; strings that are all plain integers become integers where they came from a text file."""
        if self.fixed is not None:
            return self.fixed
        assert self._coding is not None
        ids = self._coding.ids
        if numbers_from_text:
            numbers = ids.cast(pl.Int64, strict=False)
            # "007" and "+7" are names, not numbers: reading them as 7 would merge different ids.
            if not numbers.null_count() and (numbers.cast(pl.String) == ids).all():
                return Vocabulary(numbers)
        return self._coding


def _place(
    table: Table, roles: Mapping[str, str], users: _IdCounter, items: _IdCounter, duplicates: str
) -> dict[str, Any]:
    """Fill the compressed rows in a second pass."""
    counts_repeats = duplicates == "sum" and "rating" not in roles
    compressed = CompressedRows(users.lengths, has_rating="rating" in roles or counts_repeats, has_time="time" in roles)
    left = users.lengths.copy()
    for chunk in table.chunks(list(roles.values())):
        rows = users.codes(chunk, roles["user"])
        left -= np.bincount(rows, minlength=len(left))
        if left.min() < 0:  # placing one row too many would write outside the arrays
            raise ValueError(f"{table.name} must stay the same while it is read, got other rows in the second pass")
        rating = rating_column(chunk, roles["rating"]) if "rating" in roles else None
        if counts_repeats:
            rating = np.ones(len(rows), dtype=np.float32)
        time = time_column(chunk, roles["time"]) if "time" in roles else None
        compressed.add(rows, items.codes(chunk, roles["item"]), rating, time)
    if left.any():
        raise ValueError(f"{table.name} must stay the same while it is read, got fewer rows in the second pass")
    return compressed.finish(duplicates)
