"""Compiled CPU loops that two or more rooms use."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, inline="always")
def is_worse(score: float, item: int, other_score: float, other_item: int) -> bool:
    """Order of the heap: a lower score is worse; among equal scores the larger item index is worse."""
    return score < other_score or (score == other_score and item > other_item)


@numba.njit(cache=True)
def sift_down(scores: np.ndarray, items: np.ndarray, start: int, size: int) -> None:
    """Restore the heap whose root is the worst kept entry."""
    parent = start
    while True:
        child = 2 * parent + 1
        if child >= size:
            return
        if child + 1 < size and is_worse(scores[child + 1], items[child + 1], scores[child], items[child]):
            child += 1
        if not is_worse(scores[child], items[child], scores[parent], items[parent]):
            return
        scores[parent], scores[child] = scores[child], scores[parent]
        items[parent], items[child] = items[child], items[parent]
        parent = child


@numba.njit(cache=True)
def _any_above(scores: np.ndarray, start: int, stop: int, threshold: float) -> bool:
    """Say whether a stretch of scores holds one above the threshold; free of branches, so it is vectorised."""
    found = 0
    for item in range(start, stop):
        found |= int(scores[item] > threshold)
    return found != 0


@numba.njit(cache=True)
def top_n_row(scores: np.ndarray, n: int, kept_items: np.ndarray, kept_scores: np.ndarray) -> None:
    """Fill the n best entries of one row, see `top_n_rows`."""
    size, item = 0, 0
    while item < len(scores) and size < n:
        if scores[item] > -np.inf:
            kept_scores[size], kept_items[size] = scores[item], item
            size += 1
        item += 1
    for start in range(size // 2 - 1, -1, -1):
        sift_down(kept_scores, kept_items, start, size)
    while item < len(scores):
        stop = min(item + 128, len(scores))
        if _any_above(scores, item, stop, kept_scores[0]):
            for candidate in range(item, stop):
                # Items come in rising order: on a tie the kept one has the smaller index and stays.
                if scores[candidate] > kept_scores[0]:
                    kept_scores[0], kept_items[0] = scores[candidate], candidate
                    sift_down(kept_scores, kept_items, 0, size)
        item = stop
    for last in range(size - 1, 0, -1):
        kept_scores[0], kept_scores[last] = kept_scores[last], kept_scores[0]
        kept_items[0], kept_items[last] = kept_items[last], kept_items[0]
        sift_down(kept_scores, kept_items, 0, last)
    kept_scores[size:] = -np.inf
    kept_items[size:] = -1


@numba.njit(cache=True, parallel=True, nogil=True)
def top_n_rows(scores: np.ndarray, n: int, top_items: np.ndarray, top_scores: np.ndarray) -> None:
    """Fill the n best entries of every row, best first; entries that are -inf or NaN are never candidates.

    One scan with a heap of n entries: nearly every stretch of scores fails the comparison with the heap's
    worst, so the cost is that of reading the row once.
    """
    for row in numba.prange(scores.shape[0]):
        top_n_row(scores[row], n, top_items[row], top_scores[row])


@numba.njit(cache=True, parallel=True, nogil=True)
def mask_rows(scores: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> None:
    """Set the CSR positions of `scores` to -inf, in place."""
    for row in numba.prange(scores.shape[0]):
        for position in range(indptr[row], indptr[row + 1]):
            scores[row, indices[position]] = -np.inf
