"""Compiled loops over users' and items' factors: least squares by row, and ranking by products.

Everything here runs in parallel over rows that do not depend on each other, so results do not depend on the number
of threads. `bounds` cuts the rows into one part per thread with equal work. A parallel loop only calls a plain
function, and copies are written as loops: numba takes several times longer to compile what stands inside the parallel
loop itself, and slice assignments, which also run slower because they check for overlap.
"""

from __future__ import annotations

import numba
import numpy as np

from gossamer.core.kernels import top_n_row

# (indptr, indices, weights, other, gram, penalty): every row's problem, see `solve_rows_cg` and `solve_rows_exactly`
Equations = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]

# A row's gathered factors stay in the cache of one core while the solver passes over them again and again.
GATHER_BYTES = 8 << 20


@numba.njit(cache=True, nogil=True)
def _top_products_part(
    users: np.ndarray,
    items_by_column: np.ndarray,
    seen: tuple[np.ndarray, np.ndarray],
    start: int,
    stop: int,
    top_items: np.ndarray,
    top_scores: np.ndarray,
) -> None:
    indptr, indices = seen
    scores = np.dot(users[start:stop], items_by_column)
    for row in range(start, stop):
        for position in range(indptr[row], indptr[row + 1]):
            scores[row - start, indices[position]] = -np.inf
        top_n_row(scores[row - start], top_items.shape[1], top_items[row], top_scores[row])


@numba.njit(cache=True, parallel=True, nogil=True)
def top_products(
    users: np.ndarray,
    items_by_column: np.ndarray,
    seen: tuple[np.ndarray, np.ndarray],
    top_items: np.ndarray,
    top_scores: np.ndarray,
) -> None:
    """Fill the n best items of every user by x·y, without those in `seen` (indptr, indices).

    Each thread multiplies a few users by all items and ranks the scores while they are in its cache. One large product
    followed by a ranking would leave the threads of BLAS spinning beside ours, and needs its block of scores in memory.
    """
    size = 32
    for number in numba.prange((len(users) + size - 1) // size):
        stop = min(len(users), (number + 1) * size)
        _top_products_part(users, items_by_column, seen, number * size, stop, top_items, top_scores)


@numba.njit(cache=True, fastmath=True, nogil=True)
def _dot(left: np.ndarray, right: np.ndarray, width: int) -> np.float32:
    total = np.float32(0)
    for a in range(width):
        total += left[a] * right[a]
    return total


@numba.njit(cache=True, fastmath=True, nogil=True)
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


@numba.njit(cache=True, fastmath=True, nogil=True)
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


@numba.njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def _improve_row(
    rows: np.ndarray,
    chosen: np.ndarray,
    weights: np.ndarray,
    gram: np.ndarray,
    penalty: float,
    steps: int,
    x: np.ndarray,
    work: np.ndarray,
) -> float:
    """Take conjugate gradient steps on A x = b; b is work[0], and the sum of x·(b + residual) is returned."""
    width = len(x)
    b, r, p, q = work[0], work[1], work[2], work[3]
    _set_to_product(gram, penalty, x, q)
    _add_projections(rows, chosen, weights, x, q)
    for a in range(width):
        r[a] = b[a] - q[a]
        p[a] = r[a]
    squared = _dot(r, r, width)
    # Below the floor is zero, as for rows without entries: further steps would divide by products that have underflown.
    enough = max(np.float32(1e-12) * max(squared, _dot(b, b, width)), np.float32(1e-30))
    for _ in range(steps):
        if squared <= enough:
            break
        _set_to_product(gram, penalty, p, q)
        _add_projections(rows, chosen, weights, p, q)
        length = squared / _dot(p, q, width)
        for a in range(width):
            x[a] += length * p[a]
            r[a] -= length * q[a]
        previous, squared = squared, _dot(r, r, width)
        for a in range(width):
            p[a] = r[a] + (squared / previous) * p[a]
    return float(_dot(x, b, width)) + float(_dot(x, r, width))


@numba.njit(cache=True, fastmath=True, nogil=True)
def _improve_part(
    equations: Equations, steps: int, start: int, stop: int, solution: np.ndarray, row_loss: np.ndarray
) -> None:
    """Improve the rows start … stop − 1, see `solve_rows_cg`."""
    indptr, indices, weights, other, gram, penalty = equations
    width = other.shape[1]
    room = max(1, GATHER_BYTES // (4 * width))
    buffer = np.empty((room, width), dtype=np.float32)
    in_order = np.arange(room).astype(np.int32)
    work = np.empty((4, width), dtype=np.float32)
    for row in range(start, stop):
        chosen = indices[indptr[row] : indptr[row + 1]]
        w = weights[indptr[row] : indptr[row + 1]]
        fits = len(chosen) <= room
        for a in range(width):
            work[0, a] = 0
        total_weight = 0.0
        for k in range(len(chosen)):
            y = other[chosen[k]]
            total_weight += w[k]
            for a in range(width):
                work[0, a] += w[k] * y[a]
            if fits:
                for a in range(width):
                    buffer[k, a] = y[a]
        if fits:
            rows, chosen = buffer, in_order[: len(chosen)]
        else:
            rows = other
        row_loss[row] = total_weight - _improve_row(rows, chosen, w, gram, penalty[row], steps, solution[row], work)


@numba.njit(cache=True, parallel=True, nogil=True)
def solve_rows_cg(
    equations: Equations, steps: int, bounds: np.ndarray, solution: np.ndarray, row_loss: np.ndarray
) -> None:
    """Improve every row x of `solution` by `steps` conjugate gradient steps on A x = b, from where it stands.

    A = gram + penalty I + Σ_k w_k y_k y_kᵀ and b = Σ_k w_k y_k over the row's entries, with y_k a row of `other`.
    `row_loss` receives Σ_k w_k + xᵀA x − 2 bᵀx, for free: with the residual r = b − A x it is Σ_k w_k − x·(b + r).
    """
    for part in numba.prange(len(bounds) - 1):
        _improve_part(equations, steps, bounds[part], bounds[part + 1], solution, row_loss)


@numba.njit(cache=True, fastmath=True, nogil=True)
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


@numba.njit(cache=True, fastmath=True, error_model="numpy")
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


@numba.njit(cache=True, fastmath=True, nogil=True)
def _solve_part(
    equations: Equations, targets: np.ndarray, start: int, stop: int, solution: np.ndarray, row_loss: np.ndarray
) -> None:
    """Solve the rows start … stop − 1, see `solve_rows_exactly`."""
    indptr, indices, weights, other, gram, penalty = equations
    width = other.shape[1]
    matrix = np.empty((width, width), dtype=np.float32)
    b = np.empty(width, dtype=np.float32)
    for row in range(start, stop):
        first, last = indptr[row], indptr[row + 1]
        for a in range(width):
            for c in range(a + 1):
                matrix[a, c] = gram[a, c]
            matrix[a, a] += penalty[row, a % penalty.shape[1]]
            b[a] = 0
        _add_outer_products(other, indices[first:last], weights[first:last], matrix)
        energy = 0.0
        for k in range(first, last):
            y, pull = other[indices[k]], weights[k] * targets[k]
            energy += pull * targets[k]
            for a in range(width):
                b[a] += pull * y[a]
        x = solution[row]
        for a in range(width):
            x[a] = b[a]
        _solve_in_place(matrix, x)
        row_loss[row] = energy - _dot(x, b, width)


@numba.njit(cache=True, parallel=True, nogil=True)
def solve_rows_exactly(
    equations: Equations, targets: np.ndarray, bounds: np.ndarray, solution: np.ndarray, row_loss: np.ndarray
) -> None:
    """Set every row x of `solution` to the minimum of Σ_k w_k (t_k − y_k·x)² + xᵀ(gram + diag(penalty)) x.

    y_k is a row of `other` (M, D); `penalty` is (N, D), or (N, 1) for one penalty per row. `row_loss` receives the
    minimum, Σ_k w_k t_k² − x·b.
    """
    for part in numba.prange(len(bounds) - 1):
        _solve_part(equations, targets, bounds[part], bounds[part + 1], solution, row_loss)
