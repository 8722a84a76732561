"""What a table has learned, for people: table 4 of the paper for any `AnchorEmbedding`.

Every function returns at most n rows with equal keys, as `explain()` of an estimator does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Int64
from scipy import sparse

from gossamer.core.checks import check_int
from gossamer.data import Vocabulary
from gossamer.models.embeddings.anchor import AnchorEmbedding

Names = Vocabulary | Sequence[str]
SHOWN_VALUES = 3  # of a feature column, per anchor


def words_induced(
    table: AnchorEmbedding, names: Names, n: int = 10, *, anchor_ids: Int64[np.ndarray, " K"] | None = None
) -> list[dict[str, Any]]:
    """Return the n anchors with the largest total weight, and the n non-anchor objects that each induces most.

    `names` are one per id; `anchor_ids` are the objects behind the anchors, where `initialise_anchors` chose any.
    """
    transform = _without_anchor_objects(table, names, n, anchor_ids).tocsc()
    return [
        {
            "anchor": _anchor_name(anchor, names, anchor_ids),
            "objects": members,
            "induces most": ", ".join(str(names[index]) for index in _strongest(transform, anchor, n)),
        }
        for anchor, members in _heaviest_anchors(transform, n)
    ]


def largest_pairs(
    table: AnchorEmbedding, names: Names, n: int = 10, *, anchor_ids: Int64[np.ndarray, " K"] | None = None
) -> list[dict[str, Any]]:
    """Return the n largest (object, anchor) entries of T, without the anchor objects' own rows."""
    transform = _without_anchor_objects(table, names, n, anchor_ids).tocoo()
    order = np.argsort(-transform.data, kind="stable")[:n]
    return [
        {
            "object": str(names[int(transform.row[entry])]),
            "anchor": _anchor_name(int(transform.col[entry]), names, anchor_ids),
            "weight": float(transform.data[entry]),
        }
        for entry in order
    ]


def item_clusters(
    table: AnchorEmbedding, names: Names, n: int = 10, *, features: pl.DataFrame | None = None, column: str = "genres"
) -> list[dict[str, Any]]:
    """Return the n anchors with the largest total weight, the n items with the highest weights of each, best first.

    With `features` (one row per id) the values of `column`, single ones or lists, that most of these items share.
    """
    transform = _without_anchor_objects(table, names, n, None).tocsc()
    if features is not None and (features.height != table.num_embeddings or column not in features.columns):
        raise ValueError(
            f"features must have {table.num_embeddings} rows and the column {column!r}, "
            f"got {features.height} rows of {', '.join(features.columns)}"
        )
    rows = []
    for anchor, members in _heaviest_anchors(transform, n):
        best = _strongest(transform, anchor, n)
        row: dict[str, Any] = {
            "anchor": _anchor_name(anchor, names, None),
            "objects": members,
            "highest weights": ", ".join(str(names[index]) for index in best),
        }
        if features is not None:
            row[column] = _shared_values(features[column], best)
        rows.append(row)
    return rows


def _without_anchor_objects(
    table: AnchorEmbedding, names: Names, n: int, anchor_ids: np.ndarray | None
) -> sparse.csr_array:
    """Return T with the rows of anchor objects emptied: that an anchor induces itself is no news."""
    check_int("n", n, at_least=1)
    if len(names) != table.num_embeddings:
        raise ValueError(f"names must be {table.num_embeddings}, one per id, got {len(names)}")
    transform = table.transform()
    if anchor_ids is None:
        return transform
    if len(anchor_ids) != table.num_anchors:
        raise ValueError(f"anchor_ids must be {table.num_anchors}, one per anchor, got {len(anchor_ids)}")
    keep = np.ones(table.num_embeddings, dtype=np.float32)
    keep[anchor_ids] = 0
    transform = sparse.csr_array(sparse.diags_array(keep) @ transform)
    transform.eliminate_zeros()
    return transform


def _heaviest_anchors(transform: sparse.csc_array, n: int) -> list[tuple[int, int]]:
    """Return (anchor, number of members), heaviest column of T first, without empty ones."""
    totals, members = np.asarray(transform.sum(axis=0)).ravel(), np.diff(transform.indptr)
    order = np.argsort(-totals, kind="stable")[:n]
    return [(int(anchor), int(members[anchor])) for anchor in order if members[anchor]]


def _strongest(transform: sparse.csc_array, anchor: int, n: int) -> list[int]:
    """Return the objects with the highest weights for an anchor, highest first."""
    column = slice(transform.indptr[anchor], transform.indptr[anchor + 1])
    order = np.argsort(-transform.data[column], kind="stable")[:n]
    strongest: list[int] = transform.indices[column][order].tolist()
    return strongest


def _anchor_name(anchor: int, names: Names, anchor_ids: np.ndarray | None) -> str:
    return f"anchor {anchor}" if anchor_ids is None else str(names[int(anchor_ids[anchor])])


def _shared_values(column: pl.Series, rows: list[int]) -> str:
    """Return the commonest values among these rows, and in how many of them each is."""
    chosen = column[rows]
    values = chosen.explode() if chosen.dtype == pl.List else chosen
    counted = Counter(str(value) for value in values.drop_nulls())
    return ", ".join(f"{value} ({count})" for value, count in counted.most_common(SHOWN_VALUES))
