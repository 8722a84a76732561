"""Compiled loops of the linear models: rows of the Gram matrix, scoring, coordinate descent, least squares by row.

Everything here runs in parallel over rows that do not depend on each other, so results do not depend on the number
of threads. `bounds` cuts the rows into one part per thread with equal work.
"""

from __future__ import annotations

import numba
import numpy as np

Compressed = tuple[np.ndarray, np.ndarray, np.ndarray]  # (indptr, indices, data) of a CSR or CSC matrix

# A row's gathered factors stay in the cache of one core while the solver passes over them again and again.
GATHER_BYTES = 8 << 20


@numba.njit(cache=True, parallel=True, nogil=True)
def gram_rows(by_user: Compressed, by_item: Compressed, first: int, until_diagonal: bool, block: np.ndarray) -> None:
    """Fill `block` with rows first, first + 1 … of XᵀX, given X by rows and by columns.

    With `until_diagonal` the entries right of the diagonal stay zero, at half the work.
    """
    user_indptr, user_items, user_values = by_user
    item_indptr, item_users, item_values = by_item
    for offset in numba.prange(block.shape[0]):
        item = first + offset
        row = block[offset]
        row[:] = 0
        for position in range(item_indptr[item], item_indptr[item + 1]):
            user, value = item_users[position], item_values[position]
            for entry in range(user_indptr[user], user_indptr[user + 1]):
                column = user_items[entry]
                if until_diagonal and column > item:
                    break
                row[column] += value * user_values[entry]


@numba.njit(cache=True, parallel=True, nogil=True)
def invert_to_weights(inverse: np.ndarray) -> None:
    """Turn the lower triangle of a symmetric P into B with B_ij = −P_ij / P_jj and a zero diagonal, in place.

    Tiles keep both the read and the mirrored write inside the cache.
    """
    size, tile = len(inverse), 64
    diagonal = np.empty(size, dtype=inverse.dtype)
    for item in range(size):
        diagonal[item] = inverse[item, item]
    for row_tile in numba.prange((size + tile - 1) // tile):
        for column_tile in range(row_tile + 1):
            for row in range(row_tile * tile, min(size, (row_tile + 1) * tile)):
                for column in range(column_tile * tile, min(row, (column_tile + 1) * tile)):
                    value = -inverse[row, column]
                    inverse[row, column] = value / diagonal[column]
                    inverse[column, row] = value / diagonal[row]
    for item in range(size):
        inverse[item, item] = 0


@numba.njit(cache=True, parallel=True, nogil=True, fastmath=True)
def score_dense(histories: Compressed, weights: np.ndarray, scores: np.ndarray) -> None:
    """Fill `scores` (B, M) with X @ weights, where X (B, M) is given by rows and weights (M, M) is dense."""
    indptr, indices, values = histories
    for user in numba.prange(scores.shape[0]):
        row = scores[user]
        row[:] = 0
        for position in range(indptr[user], indptr[user + 1]):
            value, source = values[position], weights[indices[position]]
            for item in range(len(row)):
                row[item] += value * source[item]


@numba.njit(cache=True, parallel=True, nogil=True)
def score_sparse(histories: Compressed, weights: Compressed, scores: np.ndarray) -> None:
    """Fill `scores` (B, M) with X @ W, where X (B, M) and W (M, M) are both given by rows."""
    indptr, indices, values = histories
    weight_indptr, weight_indices, weight_data = weights
    for user in numba.prange(scores.shape[0]):
        row = scores[user]
        row[:] = 0
        for position in range(indptr[user], indptr[user + 1]):
            value, item = values[position], indices[position]
            for entry in range(weight_indptr[item], weight_indptr[item + 1]):
                row[weight_indices[entry]] += value * weight_data[entry]


@numba.njit(cache=True, inline="always")
def _shrunken(correlation: float, l1: float, nonnegative: bool) -> float:
    """Soft threshold, one-sided where weights may not be negative."""
    if correlation > l1:
        return correlation - l1
    if correlation < -l1 and not nonnegative:
        return correlation + l1
    return 0.0


@numba.njit(cache=True, nogil=True)
def _descend_once(
    gram: Compressed,
    diagonal: np.ndarray,
    target: int,
    coordinates: np.ndarray,
    penalties: tuple[float, float, bool],
    gradient: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Minimise over each of `coordinates` in turn; return the largest change of a fitted column, squared."""
    indptr, indices, data = gram
    l1, l2, nonnegative = penalties
    largest = 0.0
    for item in coordinates:
        if item == target:
            continue
        correlation = gradient[item] + diagonal[item] * weights[item]
        change = _shrunken(correlation, l1, nonnegative) / (diagonal[item] + l2) - weights[item]
        if change != 0:
            weights[item] += change
            for entry in range(indptr[item], indptr[item + 1]):
                gradient[indices[entry]] -= change * data[entry]
            largest = max(largest, change * change * diagonal[item])
    return largest


@numba.njit(cache=True, parallel=True, nogil=True)
def slim_rows(
    gram: Compressed,
    diagonal: np.ndarray,
    first: int,
    penalties: tuple[float, float, bool],
    max_sweeps: int,
    tolerance: float,
    block: np.ndarray,
) -> None:
    """Fill row t − first of `block` with SLIM's weights for predicting item t from the others.

    `gram` is XᵀX by rows and `penalties` are (l1, l2, whether weights are non-negative). Sweeps over all candidates
    alternate with sweeps over the weights that are not zero, until neither moves any fitted column by more than
    `tolerance` of the target's norm. Where weights are non-negative only items that share a user with the target can
    have one, because every gradient of the others is ≤ 0.
    """
    indptr, indices, data = gram
    num_items = len(diagonal)
    for offset in numba.prange(block.shape[0]):
        target = first + offset
        weights = block[offset]
        weights[:] = 0
        gradient = np.zeros(num_items, dtype=np.float32)
        neighbours = indices[indptr[target] : indptr[target + 1]]
        gradient[neighbours] = data[indptr[target] : indptr[target + 1]]
        candidates = neighbours if penalties[2] else np.arange(num_items).astype(neighbours.dtype)
        enough = tolerance * tolerance * diagonal[target]
        sweeps = 0
        while sweeps < max_sweeps:
            change = _descend_once(gram, diagonal, target, candidates, penalties, gradient, weights)
            sweeps += 1
            if change <= enough:
                break
            active = candidates[weights[candidates] != 0]
            while sweeps < max_sweeps and change > enough:
                change = _descend_once(gram, diagonal, target, active, penalties, gradient, weights)
                sweeps += 1


@numba.njit(cache=True, fastmath=True, inline="always")
def _dot(left: np.ndarray, right: np.ndarray, width: int) -> np.float32:
    total = np.float32(0)
    for a in range(width):
        total += left[a] * right[a]
    return total


@numba.njit(cache=True, fastmath=True, inline="always")
def _add_projections(rows: np.ndarray, chosen: np.ndarray, weights: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    """Add Σ_k weights[k] (y_k·v) y_k to `out`, where y_k = rows[chosen[k]].

    Four rows at a time: `v` and `out` are then read and written once for four multiply-adds.
    """
    width, count = len(v), len(chosen)
    in_fours = count - count % 4
    for k in range(0, in_fours, 4):
        y0, y1, y2, y3 = rows[chosen[k]], rows[chosen[k + 1]], rows[chosen[k + 2]], rows[chosen[k + 3]]
        c0 = c1 = c2 = c3 = np.float32(0)
        for a in range(width):
            c0 += y0[a] * v[a]
            c1 += y1[a] * v[a]
            c2 += y2[a] * v[a]
            c3 += y3[a] * v[a]
        c0, c1, c2, c3 = c0 * weights[k], c1 * weights[k + 1], c2 * weights[k + 2], c3 * weights[k + 3]
        for a in range(width):
            out[a] += c0 * y0[a] + c1 * y1[a] + c2 * y2[a] + c3 * y3[a]
    for k in range(in_fours, count):
        y0 = rows[chosen[k]]
        c0 = weights[k] * _dot(y0, v, width)
        for a in range(width):
            out[a] += c0 * y0[a]


@numba.njit(cache=True, fastmath=True, inline="always")
def _set_to_product(gram: np.ndarray, penalty: float, v: np.ndarray, out: np.ndarray) -> None:
    """Set `out` to (gram + penalty · I) v for a symmetric gram, four of its rows at a time."""
    width = len(v)
    in_fours = width - width % 4
    for a in range(width):
        out[a] = penalty * v[a]
    for b in range(0, in_fours, 4):
        v0, v1, v2, v3 = v[b], v[b + 1], v[b + 2], v[b + 3]
        for a in range(width):
            out[a] += v0 * gram[b, a] + v1 * gram[b + 1, a] + v2 * gram[b + 2, a] + v3 * gram[b + 3, a]
    for b in range(in_fours, width):
        for a in range(width):
            out[a] += v[b] * gram[b, a]


@numba.njit(cache=True, parallel=True, fastmath=True, nogil=True)
def solve_rows_cg(
    entries: Compressed,
    other: np.ndarray,
    gram: np.ndarray,
    penalty: np.ndarray,
    steps: int,
    bounds: np.ndarray,
    solution: np.ndarray,
    row_loss: np.ndarray,
) -> None:
    """Improve every row x of `solution` by `steps` conjugate gradient steps on A x = b, from where it stands.

    A = gram + penalty I + Σ_k w_k y_k y_kᵀ and b = Σ_k w_k y_k over the row's `entries`, with y_k a row of `other`.
    `row_loss` receives Σ_k w_k + xᵀA x − 2 bᵀx, for free: with the residual r = b − A x it is Σ_k w_k − x·(b + r).
    """
    indptr, indices, weights = entries
    width = other.shape[1]
    gathered = max(1, GATHER_BYTES // (4 * width))
    for part in numba.prange(len(bounds) - 1):
        buffer = np.empty((gathered, width), dtype=np.float32)
        in_order = np.arange(gathered).astype(np.int32)
        b, r, p, q = (
            np.empty(width, dtype=np.float32),
            np.empty(width, dtype=np.float32),
            np.empty(width, dtype=np.float32),
            np.empty(width, dtype=np.float32),
        )
        for row in range(bounds[part], bounds[part + 1]):
            x, start, count = solution[row], indptr[row], indptr[row + 1] - indptr[row]
            chosen, w = indices[start : start + count], weights[start : start + count]
            fits = count <= gathered
            b[:] = 0
            total_weight = 0.0
            for k in range(count):
                y, weight = other[chosen[k]], w[k]
                total_weight += weight
                for a in range(width):
                    b[a] += weight * y[a]
                if fits:
                    for a in range(width):  # a slice assignment would be twice as slow: it checks for overlap
                        buffer[k, a] = y[a]
            rows = buffer if fits else other
            if fits:
                chosen = in_order[:count]
            _set_to_product(gram, penalty[row], x, q)
            _add_projections(rows, chosen, w, x, q)
            for a in range(width):
                r[a] = b[a] - q[a]
                p[a] = r[a]
            squared = _dot(r, r, width)
            enough = np.float32(1e-12) * _dot(b, b, width)
            for _ in range(steps):
                if squared <= enough:
                    break
                _set_to_product(gram, penalty[row], p, q)
                _add_projections(rows, chosen, w, p, q)
                length = squared / _dot(p, q, width)
                for a in range(width):
                    x[a] += length * p[a]
                    r[a] -= length * q[a]
                previous, squared = squared, _dot(r, r, width)
                for a in range(width):
                    p[a] = r[a] + (squared / previous) * p[a]
            row_loss[row] = total_weight - _dot(x, b, width) - _dot(x, r, width)


@numba.njit(cache=True, fastmath=True, inline="always")
def _add_outer_products(rows: np.ndarray, chosen: np.ndarray, weights: np.ndarray, matrix: np.ndarray) -> None:
    """Add Σ_k weights[k] y_k y_kᵀ to the lower triangle of `matrix`, four rows at a time."""
    width, count = len(matrix), len(chosen)
    in_fours = count - count % 4
    for k in range(0, in_fours, 4):
        y0, y1, y2, y3 = rows[chosen[k]], rows[chosen[k + 1]], rows[chosen[k + 2]], rows[chosen[k + 3]]
        for a in range(width):
            c0, c1, c2, c3 = weights[k] * y0[a], weights[k + 1] * y1[a], weights[k + 2] * y2[a], weights[k + 3] * y3[a]
            line = matrix[a]
            for b in range(a + 1):
                line[b] += c0 * y0[b] + c1 * y1[b] + c2 * y2[b] + c3 * y3[b]
    for k in range(in_fours, count):
        y0 = rows[chosen[k]]
        for a in range(width):
            c0 = weights[k] * y0[a]
            for b in range(a + 1):
                matrix[a, b] += c0 * y0[b]


@numba.njit(cache=True, fastmath=True)
def _solve_in_place(matrix: np.ndarray, x: np.ndarray) -> None:
    """Replace x by matrix⁻¹ x, by Cholesky in the lower triangle of a positive definite matrix."""
    width = len(x)
    for a in range(width):
        line = matrix[a]
        for b in range(a):
            line[b] = (line[b] - _dot(line, matrix[b], b)) / matrix[b, b]
        # The floor is for single-precision rounding when the penalty is tiny beside the Gram matrix.
        line[a] = np.sqrt(max(line[a] - _dot(line, line, a), np.float32(1e-7) * line[a]))
        x[a] = (x[a] - _dot(line, x, a)) / line[a]
    for a in range(width - 1, -1, -1):
        x[a] /= matrix[a, a]
        for b in range(a):
            x[b] -= matrix[a, b] * x[a]


@numba.njit(cache=True, parallel=True, fastmath=True, nogil=True)
def solve_rows_exactly(
    entries: Compressed,
    targets: np.ndarray,
    other: np.ndarray,
    gram: np.ndarray,
    penalty: np.ndarray,
    bounds: np.ndarray,
    solution: np.ndarray,
    row_loss: np.ndarray,
) -> None:
    """Set every row x of `solution` to the minimum of Σ_k w_k (t_k − y_k·x)² + xᵀ(gram + diag(penalty)) x.

    y_k is a row of `other` (M, D); `penalty` is (N, D), or (N, 1) for one penalty per row. `row_loss` receives the
    minimum, Σ_k w_k t_k² − x·b.
    """
    indptr, indices, weights = entries
    width = other.shape[1]
    for part in numba.prange(len(bounds) - 1):
        matrix = np.empty((width, width), dtype=np.float32)
        b = np.empty(width, dtype=np.float32)
        for row in range(bounds[part], bounds[part + 1]):
            x, start, stop = solution[row], indptr[row], indptr[row + 1]
            matrix[:] = gram
            for a in range(width):
                matrix[a, a] += penalty[row, a % penalty.shape[1]]
            _add_outer_products(other, indices[start:stop], weights[start:stop], matrix)
            b[:] = 0
            energy = 0.0
            for k in range(start, stop):
                y, pull = other[indices[k]], weights[k] * targets[k]
                energy += pull * targets[k]
                for a in range(width):
                    b[a] += pull * y[a]
            x[:] = b
            _solve_in_place(matrix, x)
            row_loss[row] = energy - _dot(x, b, width)
