"""Compiled loops over items: rows of the Gram matrix, EASE's last step, scoring, SLIM's coordinate descent.

Everything here runs in parallel over rows that do not depend on each other, so results do not depend on the number
of threads. `order` deals rows out like cards, because numba gives each thread one stretch and popular items often
stand together. As in `kernels`, a parallel loop only calls a plain function.
"""

from __future__ import annotations

import numba
import numpy as np

Compressed = tuple[np.ndarray, np.ndarray, np.ndarray]  # (indptr, indices, data) of a CSR or CSC matrix


@numba.njit(cache=True, nogil=True)
def _gram_row(by_user: Compressed, by_item: Compressed, item: int, until_diagonal: bool, row: np.ndarray) -> None:
    user_indptr, user_items, user_values = by_user
    item_indptr, item_users, item_values = by_item
    row[:] = 0
    for position in range(item_indptr[item], item_indptr[item + 1]):
        user, value = item_users[position], item_values[position]
        for entry in range(user_indptr[user], user_indptr[user + 1]):
            column = user_items[entry]
            if until_diagonal and column > item:
                break
            row[column] += value * user_values[entry]


@numba.njit(cache=True, parallel=True, nogil=True)
def gram_rows(
    by_user: Compressed, by_item: Compressed, first: int, until_diagonal: bool, order: np.ndarray, block: np.ndarray
) -> None:
    """Fill `block` with rows first, first + 1 … of XᵀX, given X by rows and by columns.

    With `until_diagonal` the entries right of the diagonal stay zero, at half the work.
    """
    for number in numba.prange(len(order)):
        offset = order[number]
        _gram_row(by_user, by_item, first + offset, until_diagonal, block[offset])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _mirror_tiles(inverse: np.ndarray, diagonal: np.ndarray, first_row: int, tile: int) -> None:
    for first_column in range(0, first_row + 1, tile):
        for row in range(first_row, min(len(inverse), first_row + tile)):
            for column in range(first_column, min(row, first_column + tile)):
                value = -inverse[row, column]
                inverse[row, column] = value / diagonal[column]
                inverse[column, row] = value / diagonal[row]


@numba.njit(cache=True, parallel=True, nogil=True)
def invert_to_weights(inverse: np.ndarray, diagonal: np.ndarray) -> None:
    """Turn the lower triangle of a symmetric P into B_ij = −P_ij / P_jj off the diagonal, in place.

    Tiles keep both the read and the mirrored write inside the cache.
    """
    tile = 64
    for number in numba.prange((len(inverse) + tile - 1) // tile):
        _mirror_tiles(inverse, diagonal, number * tile, tile)


@numba.njit(cache=True, nogil=True, fastmath=True)
def _score_dense_row(histories: Compressed, weights: np.ndarray, user: int, row: np.ndarray) -> None:
    indptr, indices, values = histories
    row[:] = 0
    for position in range(indptr[user], indptr[user + 1]):
        value, source = values[position], weights[indices[position]]
        for item in range(len(row)):
            row[item] += value * source[item]


@numba.njit(cache=True, parallel=True, nogil=True)
def score_dense(histories: Compressed, weights: np.ndarray, scores: np.ndarray) -> None:
    """Fill `scores` (B, M) with X @ weights, where X (B, M) is given by rows and weights (M, M) is dense."""
    for user in numba.prange(scores.shape[0]):
        _score_dense_row(histories, weights, user, scores[user])


@numba.njit(cache=True, nogil=True)
def _score_sparse_row(histories: Compressed, weights: Compressed, user: int, row: np.ndarray) -> None:
    indptr, indices, values = histories
    weight_indptr, weight_indices, weight_data = weights
    row[:] = 0
    for position in range(indptr[user], indptr[user + 1]):
        value, item = values[position], indices[position]
        for entry in range(weight_indptr[item], weight_indptr[item + 1]):
            row[weight_indices[entry]] += value * weight_data[entry]


@numba.njit(cache=True, parallel=True, nogil=True)
def score_sparse(histories: Compressed, weights: Compressed, scores: np.ndarray) -> None:
    """Fill `scores` (B, M) with X @ W, where X (B, M) and W (M, M) are both given by rows."""
    for user in numba.prange(scores.shape[0]):
        _score_sparse_row(histories, weights, user, scores[user])


@numba.njit(cache=True, nogil=True)
def _subtract_row(gram: Compressed, dense_gram: np.ndarray, item: int, change: float, gradient: np.ndarray) -> None:
    """Take `change` times one row of XᵀX from the gradient: a plain stretch of memory where the rows are dense."""
    if len(dense_gram):
        row, step = dense_gram[item], np.float32(change)
        for other in range(len(row)):
            gradient[other] -= step * row[other]
    else:
        indptr, indices, data = gram
        for entry in range(indptr[item], indptr[item + 1]):
            gradient[indices[entry]] -= change * data[entry]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _descend_once(
    gram: Compressed,
    dense_gram: np.ndarray,
    diagonal: np.ndarray,
    target: int,
    coordinates: np.ndarray,
    penalties: tuple[float, float, bool],
    gradient: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Minimise over each of `coordinates` in turn; return the largest change of a fitted column, squared."""
    l1, l2, nonnegative = penalties
    largest = 0.0
    for item in coordinates:
        if item == target:
            continue
        correlation = gradient[item] + diagonal[item] * weights[item]
        shrunken = max(correlation - l1, 0.0)
        if not nonnegative:
            shrunken -= max(-correlation - l1, 0.0)
        change = shrunken / (diagonal[item] + l2) - weights[item]
        if change != 0:
            weights[item] += change
            _subtract_row(gram, dense_gram, item, change, gradient)
            largest = max(largest, change * change * diagonal[item])
    return largest


@numba.njit(cache=True, nogil=True)
def _slim_row(
    gram: Compressed,
    dense_gram: np.ndarray,
    diagonal: np.ndarray,
    target: int,
    penalties: tuple[float, float, bool],
    max_sweeps: int,
    tolerance: float,
    weights: np.ndarray,
) -> None:
    """Fit one item, see `slim_rows`."""
    indptr, indices, data = gram
    weights[:] = 0
    gradient = np.zeros_like(weights)
    neighbours = indices[indptr[target] : indptr[target + 1]]
    gradient[neighbours] = data[indptr[target] : indptr[target + 1]]
    candidates = neighbours.copy() if penalties[2] else np.arange(len(weights)).astype(np.int32)
    enough = tolerance * tolerance * diagonal[target]
    sweeps = 0
    while sweeps < max_sweeps:
        change = _descend_once(gram, dense_gram, diagonal, target, candidates, penalties, gradient, weights)
        sweeps += 1
        if change <= enough:
            break
        active = candidates[weights[candidates] != 0]
        while sweeps < max_sweeps and change > enough:
            change = _descend_once(gram, dense_gram, diagonal, target, active, penalties, gradient, weights)
            sweeps += 1


@numba.njit(cache=True, parallel=True, nogil=True)
def slim_rows(
    gram: Compressed,
    dense_gram: np.ndarray,
    diagonal: np.ndarray,
    first: int,
    penalties: tuple[float, float, bool],
    max_sweeps: int,
    tolerance: float,
    order: np.ndarray,
    block: np.ndarray,
) -> None:
    """Fill row t − first of `block` with SLIM's weights for predicting item t from the others.

    `gram` is XᵀX by rows, `dense_gram` the same as a plain matrix or empty, and `penalties` are (l1, l2, whether
    weights are non-negative). Sweeps over all candidates alternate with sweeps over the weights that are
    not zero, until neither moves any fitted column by more than `tolerance` of the target's norm. Where weights are
    non-negative only items that share a user with the target can have one, because every gradient of the others is ≤ 0.
    """
    for number in numba.prange(len(order)):
        offset = order[number]
        _slim_row(gram, dense_gram, diagonal, first + offset, penalties, max_sweeps, tolerance, block[offset])
