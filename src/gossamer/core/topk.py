"""The n best columns of every row of a dense block of scores."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Int32
from scipy import sparse

from gossamer.core.checks import check_int
from gossamer.core.kernels import mask_rows, top_n_rows


def top_n(
    scores: Float[np.ndarray, "B M"], n: int, exclude: sparse.csr_array | None = None
) -> tuple[Int32[np.ndarray, "B n"], Float32[np.ndarray, "B n"]]:
    """Return items and scores of the n best columns per row, best first, ties by smaller column.

    Pairs stored in `exclude` are never returned; their entries of `scores` are overwritten with -inf, because
    a copy of the block would double the memory of every recommendation. Rows with fewer than n candidates end
    in item -1 and score -inf. NaN is never a candidate.

    >>> items, _ = top_n(np.array([[0.1, 0.9, 0.5]], dtype=np.float32), 2)
    >>> items.tolist()
    [[1, 2]]
    """
    check_int("n", n, at_least=1)
    if exclude is not None:
        if exclude.shape != scores.shape:
            raise ValueError(f"exclude must have the shape of scores {scores.shape}, got {exclude.shape}")
        mask_rows(scores, exclude.indptr, exclude.indices)
    top_items = np.empty((len(scores), n), dtype=np.int32)
    top_scores = np.empty((len(scores), n), dtype=np.float32)
    top_n_rows(scores, n, top_items, top_scores)
    return top_items, top_scores


def batch_rows(num_columns: int, bytes_budget: int = 64 << 20) -> int:
    """Return how many rows of a dense float32 block with `num_columns` columns fit in `bytes_budget`, at least 1.

    >>> batch_rows(1 << 20)
    16
    """
    return max(1, bytes_budget // (4 * max(1, num_columns)))
