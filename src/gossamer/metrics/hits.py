"""Which ranked items are relevant: the one lookup that every ranking metric shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Hits:
    """Ranked lists after the lookup of their items among the relevant ones.

    `gains` (B, n) holds the relevance of the item at each rank, 0 where it is not relevant; `relevant` (B, M)
    is sorted, without duplicates and stored zeros.
    """

    gains: Float[np.ndarray, "B n"]
    relevant: csr_array

    @property
    def num_relevant(self) -> Int[np.ndarray, " B"]:
        """How many items are relevant for each row."""
        counts: Int[np.ndarray, " B"] = np.diff(self.relevant.indptr)
        return counts


def find_hits(ranked: Int[np.ndarray, "B n"], relevant: csr_array) -> Hits:
    """Look up every ranked item among the relevant items of its row, in O(B n log nnz) and without a dense B × M.

    `ranked` holds item indices, best first, -1 where a list is shorter; `relevant` (B, M) has a nonzero value
    at each relevant item.

    >>> find_hits(np.array([[2, 0, -1]]), csr_array(np.array([[0.0, 1.0, 5.0]]))).gains
    array([[5., 0., 0.]])
    """
    relevant = _checked_relevant(relevant)
    check_ranked(ranked, num_items=relevant.shape[1])
    if len(ranked) != relevant.shape[0]:
        raise ValueError(f"relevant must have one row per ranked list ({len(ranked)}), got {relevant.shape[0]}")
    gains = np.zeros(ranked.shape)
    if relevant.nnz == 0:
        return Hits(gains, relevant)
    # One number per (row, item) pair; CSR order makes the numbers of the relevant pairs ascend.
    num_items = relevant.shape[1]
    row_starts = np.arange(len(ranked), dtype=np.int64) * num_items
    relevant_pairs = np.repeat(row_starts, np.diff(relevant.indptr)) + relevant.indices
    ranked_pairs = row_starts[:, None] + ranked
    position = np.minimum(np.searchsorted(relevant_pairs, ranked_pairs), relevant.nnz - 1)
    is_hit = (relevant_pairs[position] == ranked_pairs) & (ranked >= 0)
    gains[is_hit] = relevant.data[position[is_hit]]
    return Hits(gains, relevant)


def check_ranked(ranked: Int[np.ndarray, "B n"], *, num_items: int) -> None:
    """Raise a ValueError unless `ranked` holds each of the `num_items` items at most once per row, -1 as padding."""
    if not isinstance(ranked, np.ndarray) or ranked.ndim != 2 or ranked.dtype.kind != "i":
        raise ValueError(f"ranked must be a signed integer array of shape (B, n), got {_describe(ranked)}")
    if ranked.size == 0:
        return
    smallest, largest = int(ranked.min()), int(ranked.max())
    if smallest < -1 or largest >= num_items:
        wrong = smallest if smallest < -1 else largest
        raise ValueError(f"ranked must hold item indices from 0 to {num_items - 1}, or -1 as padding, got {wrong}")
    in_order = np.sort(ranked, axis=1)
    repeated = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != -1)
    if repeated.any():
        row, column = np.argwhere(repeated)[0]
        raise ValueError(f"ranked must hold an item once per row, got item {in_order[row, column]} twice in row {row}")


def _checked_relevant(relevant: csr_array) -> csr_array:
    if not isinstance(relevant, csr_array) or relevant.ndim != 2 or relevant.dtype.kind not in "biuf":
        raise ValueError(f"relevant must be a csr_array of numbers of shape (B, M), got {_describe(relevant)}")
    if not np.isfinite(relevant.data).all():
        raise ValueError(f"relevant must be finite, got {relevant.data[~np.isfinite(relevant.data)][0]}")
    if not relevant.has_canonical_format or not relevant.data.all():
        relevant = relevant.copy()  # the caller's matrix may share its arrays with a data set
        relevant.sum_duplicates()
        relevant.eliminate_zeros()
    return relevant


def _describe(value: object) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of {dtype} and shape {shape}"
