"""How large an anchor table is: from what a user says (anchors, slots or a ratio) to numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gossamer.core.checks import check_int
from gossamer.models.embeddings.sizing import check_one_size
from gossamer.models.embeddings.table import budget_of

FEW_ANCHORS = 32  # up to so many anchors, every row may use all of them
DEFAULT_SLOTS = 16


@dataclass(frozen=True)
class AnchorSize:
    """K anchors, and S slots for nonzeros in each row of T."""

    num_anchors: int
    num_slots: int


def anchor_size(
    num_embeddings: int,
    embedding_dim: int,
    num_anchors: int | None,
    ratio: float | None,
    num_slots: int | None,
) -> AnchorSize:
    """Return the size that was asked for, by anchors or by ratio, or say why there is none.

    A ratio's budget V·D/ratio is shared between anchors and slots: half for anchors, but no more than 4√V of them,
    because beyond that further nonzeros help more; the rest gives every row the same number of slots.

    >>> anchor_size(1_000_000, 64, None, 20, None)
    AnchorSize(num_anchors=4000, num_slots=2)
    """
    check_one_size("num_anchors", num_anchors, ratio)
    if ratio is not None:
        return _size_at_ratio(num_embeddings, embedding_dim, ratio, num_slots)
    assert num_anchors is not None
    check_int("num_anchors", num_anchors, at_least=1)
    if num_anchors > num_embeddings:
        raise ValueError(f"num_anchors must be at most the {num_embeddings} objects, got {num_anchors}")
    if num_slots is None:
        num_slots = num_anchors if num_anchors <= FEW_ANCHORS else DEFAULT_SLOTS
    return AnchorSize(num_anchors, check_int("num_slots", num_slots, at_least=1, at_most=num_anchors))


def _size_at_ratio(num_embeddings: int, embedding_dim: int, ratio: float, num_slots: int | None) -> AnchorSize:
    budget = budget_of(num_embeddings, embedding_dim, ratio)
    most = num_embeddings
    if num_slots is None:
        most = min(most, int(4 * num_embeddings**0.5))
        num_anchors = max(1, min(budget // (2 * embedding_dim), most))
        num_slots = (budget - num_anchors * embedding_dim) // num_embeddings
        num_slots = max(1, min(num_slots, num_anchors))
    check_int("num_slots", num_slots, at_least=1)
    num_anchors = min((budget - num_slots * num_embeddings) // embedding_dim, most)
    if num_anchors < num_slots:
        smallest = num_embeddings * num_slots + num_slots * embedding_dim
        largest = num_embeddings * embedding_dim / smallest
        shown = math.floor(largest * 100) / 100  # a ratio that works, so never rounded up
        raise ValueError(
            f"ratio must be at most {shown:g} for {num_embeddings} × {embedding_dim} with {num_slots} weights "
            f"per row, got {ratio}; give num_anchors and an l1 penalty for less"
        )
    return AnchorSize(num_anchors, num_slots)


def largest_per_row(matrix: sparse.csr_array, count: int) -> sparse.csr_array:
    """Return a boolean matrix of the `count` largest stored entries of each row."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((-matrix.data, rows))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order)) - matrix.indptr[rows[order]]
    kept = position < count
    return sparse.csr_array((np.ones(kept.sum(), dtype=bool), (rows[kept], matrix.indices[kept])), shape=matrix.shape)


def without_row(matrix: sparse.csr_array, row: int) -> sparse.csr_array:
    """Return the matrix with one row emptied."""
    emptied = sparse.csr_array(matrix, copy=True)
    emptied.data[emptied.indptr[row] : emptied.indptr[row + 1]] = 0
    emptied.eliminate_zeros()
    return emptied
