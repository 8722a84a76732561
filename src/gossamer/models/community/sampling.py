"""Random neighbours, negatives and divisions of histories from CSR rows; equal seeds give equal draws."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32

from gossamer.core.checks import check_int, check_real
from gossamer.models.community.kernels import divide_rows as divide_rows_into
from gossamer.models.community.kernels import draw_negatives, uniform_neighbours, weighted_neighbours

NOTHING = np.empty(0, dtype=np.int64)
NO_WEIGHTS = np.empty(0, dtype=np.float64)


def sample_neighbours(
    indptr: Int[np.ndarray, " N1"],
    indices: Int[np.ndarray, " Z"],
    rows: Int[np.ndarray, " B"],
    count: int,
    *,
    seed: int,
    cumulative: Float64[np.ndarray, " Z"] | None = None,
    forbidden: Int[np.ndarray, " B"] | None = None,
    excluded: Int[np.ndarray, " X"] | None = None,
) -> Int32[np.ndarray, "B count"]:
    """Return `count` neighbours of every row, -1 where there are no more.

    Without weights they are different ones, all equally likely. With `cumulative`, the running sums of weights within
    each row, they are drawn with replacement, so that their mean is an unbiased estimate of the weighted mean.
    `forbidden[b]` is the one neighbour that row b must not see (its target), `excluded` are neighbours nobody sees, in
    ascending order.

    >>> indptr, indices = np.array([0, 3]), np.array([4, 7, 9])
    >>> np.sort(sample_neighbours(indptr, indices, np.array([0]), 4, seed=0, forbidden=np.array([7]))).tolist()
    [[-1, -1, 4, 9]]
    """
    check_int("count", count, at_least=1)
    chosen = np.empty((len(rows), count), dtype=np.int32)
    target = NOTHING if forbidden is None else np.asarray(forbidden, dtype=np.int64)
    hidden = NOTHING if excluded is None else np.asarray(excluded, dtype=np.int64)
    if (np.diff(hidden) < 0).any():
        raise ValueError(f"excluded must be in ascending order, got {hidden[:5]} …")
    if cumulative is None:
        uniform_neighbours(indptr, indices, rows, target, hidden, count, np.uint64(seed), chosen)
    else:
        weighted_neighbours(indptr, indices, cumulative, rows, target, hidden, count, np.uint64(seed), chosen)
    return chosen


def running_sums(indptr: Int[np.ndarray, " N1"], weights: np.ndarray) -> Float64[np.ndarray, " Z"]:
    """Return the running sums of weights within each row, as `sample_neighbours` wants them.

    >>> running_sums(np.array([0, 2, 3]), np.array([1.0, 2.0, 5.0]))
    array([1., 3., 5.])
    """
    if len(weights) and not (np.isfinite(weights).all() and weights.min() >= 0):
        raise ValueError(f"weights must be finite and >= 0, got {weights.min()} … {weights.max()}")
    sums = np.cumsum(weights, dtype=np.float64)
    before = np.concatenate([[0.0], sums])[indptr[:-1]]
    running: np.ndarray = np.maximum(sums - np.repeat(before, np.diff(indptr)), 0)
    return running


def sample_negatives(
    indptr: Int[np.ndarray, " N1"],
    indices: Int[np.ndarray, " Z"],
    rows: Int[np.ndarray, " B"],
    count: int,
    num_items: int,
    *,
    seed: int,
    cumulative: Float64[np.ndarray, " M"] | None = None,
) -> Int32[np.ndarray, "B count"]:
    """Return `count` items of every row that it does not have, uniform or by `cumulative`, running sums of popularity.

    Rows of `indices` must be sorted. A row that has everything gets -1.
    """
    check_int("count", count, at_least=1)
    check_int("num_items", num_items, at_least=1)
    popularity = NO_WEIGHTS if cumulative is None else cumulative
    chosen = np.empty((len(rows), count), dtype=np.int32)
    draw_negatives(indptr, indices, rows, popularity, num_items, count, np.uint64(seed), chosen)
    return chosen


def divide_rows(
    indptr: Int[np.ndarray, " N1"],
    rows: Int[np.ndarray, " B"],
    *,
    seed: int,
    low: float,
    high: float,
    nothing: float = 0.0,
    order: Int[np.ndarray, " Z"] | None = None,
) -> Bool[np.ndarray, " E"]:
    """Say of every edge of the rows, in turn, whether it is known (True) or to be predicted.

    Of each row a share between `low` and `high` is known, but never all: the first ones in `order` (ranks within rows,
    by time), or any; of a share `nothing` of the rows, nothing. A target is never among the neighbours it is predicted
    from.
    """
    check_real("low", low, at_least=0, at_most=1)
    check_real("high", high, at_least=low, at_most=1)
    check_real("nothing", nothing, at_least=0, at_most=1)
    is_input = np.empty(int((indptr[rows + 1] - indptr[rows]).sum()), dtype=bool)
    ranks = NOTHING if order is None else order
    divide_rows_into(indptr, ranks, rows, low, high, nothing, order is not None, np.uint64(seed), is_input)
    return is_input
