"""Compiled loops that give each row its best combination of few columns: quadratic programs with a price per entry.

A row minimises tᵀG t − 2 bᵀt + charge · ‖t‖₀ with at most `max_entries` entries, each ≥ 0 unless its column is
`signed_from` or later. Columns enter greedily, every change is followed by an exact refit of all entries, and entries
that are worth less than the charge, or less than another column would be in their place, leave again. Every move
lowers the objective, so a row never ends worse than it began, nor worse than zero.
"""

from __future__ import annotations

import numba
import numpy as np

RIDGE = 1e-6  # relative; keeps collinear columns of a Gram matrix in single precision apart
IMPROVEMENT = 1e-6  # the least relative gain for which a column is exchanged: rounding must not keep a row busy


@numba.njit(cache=True, nogil=True)
def _solve_support(gram: np.ndarray, b: np.ndarray, support: np.ndarray, n: int, work: np.ndarray) -> None:
    """Set work[n, :n] to the least squares values of the first n columns of `support`, by Cholesky in work[:n]."""
    z = work[n]
    for i in range(n):
        line = work[i]
        for j in range(i):
            total = np.float64(gram[support[i], support[j]])
            for k in range(j):
                total -= line[k] * work[j, k]
            line[j] = total / work[j, j]
        diagonal = np.float64(gram[support[i], support[i]])
        pivot = diagonal * (1 + RIDGE)
        for k in range(i):
            pivot -= line[k] * line[k]
        line[i] = np.sqrt(max(pivot, RIDGE * diagonal))
    for i in range(n):
        total = np.float64(b[support[i]])
        for k in range(i):
            total -= work[i, k] * z[k]
        z[i] = total / work[i, i]
    for i in range(n - 1, -1, -1):
        z[i] /= work[i, i]
        for k in range(i):
            z[k] -= work[i, k] * z[i]


@numba.njit(cache=True, nogil=True)
def _refit(
    gram: np.ndarray,
    b: np.ndarray,
    signed_from: int,
    support: np.ndarray,
    values: np.ndarray,
    n: int,
    work: np.ndarray,
) -> int:
    """Refit the n values exactly; entries that would fall below zero leave (Lawson and Hanson's inner loop)."""
    while n > 0:
        _solve_support(gram, b, support, n, work)
        z = work[n]
        length = 1.0
        for i in range(n):
            if z[i] <= 0 and support[i] < signed_from:
                length = min(length, values[i] / (values[i] - z[i]) if values[i] > 0 else 0.0)
        if length == 1.0:
            for i in range(n):
                values[i] = z[i]
            return n
        kept = 0
        for i in range(n):
            moved = values[i] + length * (z[i] - values[i])
            if moved > 1e-12 * abs(z[i]) or support[i] >= signed_from:
                support[kept], values[kept] = support[i], moved
                kept += 1
        if kept == n:  # rounding left the blocking entry a hair above zero
            smallest = 0
            for i in range(n):
                if support[i] < signed_from and (support[smallest] >= signed_from or values[i] < values[smallest]):
                    smallest = i
            _remove(support, values, n, smallest)
            kept = n - 1
        n = kept
    return 0


@numba.njit(cache=True, nogil=True)
def _remove(support: np.ndarray, values: np.ndarray, n: int, position: int) -> None:
    for i in range(position, n - 1):
        support[i], values[i] = support[i + 1], values[i + 1]


@numba.njit(cache=True, nogil=True)
def _explained(b: np.ndarray, support: np.ndarray, values: np.ndarray, n: int) -> float:
    """Return 2 bᵀt − tᵀG t, which at refitted values is bᵀt."""
    total = 0.0
    for i in range(n):
        total += b[support[i]] * values[i]
    return total


@numba.njit(cache=True, fastmath=True, nogil=True)
def _best_column(
    gram: np.ndarray,
    b: np.ndarray,
    signed_from: int,
    support: np.ndarray,
    n: int,
    without: int,
    work: np.ndarray,
    projected: np.ndarray,
) -> tuple[int, float]:
    """Return the column whose addition explains most, and how much; neither the support nor `without` is asked.

    This is orthogonal least squares: with the Cholesky factor L of the support's Gram matrix, as the last `_refit` left
    it in `work`, a column k gains r_k² / (G_kk − ‖L⁻¹ G_Sk‖²), where r is what is left of b. If none gains, -1 is
    returned.
    """
    num_columns = len(b)
    left, length = projected[len(projected) - 1], projected[len(projected) - 2]
    for k in range(num_columns):
        left[k], length[k] = b[k], gram[k, k]
    for i in range(n):
        line, own = projected[i], gram[support[i]]
        share = np.float64(b[support[i]])
        for j in range(i):
            share -= work[i, j] * work[n + 1, j]
        work[n + 1, i] = share / work[i, i]
        for k in range(num_columns):
            line[k] = own[k]
        for j in range(i):
            before, factor = projected[j], np.float32(work[i, j])
            for k in range(num_columns):
                line[k] -= factor * before[k]
        inverse, value = np.float32(1 / work[i, i]), np.float32(work[n + 1, i])
        for k in range(num_columns):
            line[k] *= inverse
            left[k] -= value * line[k]
            length[k] -= line[k] * line[k]
    for i in range(n):
        left[support[i]] = 0
    if without >= 0:
        left[without] = 0
    best, best_gain = -1, np.float32(0)
    for k in range(num_columns):
        if left[k] > 0 or k >= signed_from:
            # Below the floor a column lies in the span of the support, and both numbers are rounding.
            gain = left[k] * left[k] / max(length[k], np.float32(1e-3) * gram[k, k], np.float32(1e-30))
            if gain > best_gain:
                best, best_gain = k, gain
    return best, float(best_gain)


@numba.njit(cache=True, nogil=True)
def _grow(
    gram: np.ndarray,
    b: np.ndarray,
    charge: float,
    max_entries: int,
    signed_from: int,
    code: tuple[np.ndarray, np.ndarray],
    n: int,
    work: np.ndarray,
    projected: np.ndarray,
) -> int:
    """Add the best column while it explains more than the charge and there is room."""
    support, values = code
    n = _refit(gram, b, signed_from, support, values, n, work)  # leaves in `work` what `_best_column` needs
    smallest_gain = IMPROVEMENT * _explained(b, support, values, n)
    for _ in range(4 * max_entries):  # entries may leave in a refit, so more rounds than entries can be of use
        if n == max_entries:
            break
        column, gain = _best_column(gram, b, signed_from, support, n, -1, work, projected)
        if column < 0 or gain <= max(charge, smallest_gain):
            break
        support[n], values[n] = column, 0.0
        n = _refit(gram, b, signed_from, support, values, n + 1, work)
    return n


@numba.njit(cache=True, nogil=True)
def _shrink(
    gram: np.ndarray,
    b: np.ndarray,
    charge: float,
    max_entries: int,
    signed_from: int,
    code: tuple[np.ndarray, np.ndarray],
    trial: tuple[np.ndarray, np.ndarray],
    n: int,
    work: np.ndarray,
) -> int:
    """Take out the entry that is missed least while that is less than the charge, or there are too many."""
    support, values = code
    trial_support, trial_values = trial
    while n > 0:
        present, best, least = _explained(b, support, values, n), -1, np.inf
        for position in range(n):
            for i in range(n):
                trial_support[i], trial_values[i] = support[i], values[i]
            _remove(trial_support, trial_values, n, position)
            left = _refit(gram, b, signed_from, trial_support, trial_values, n - 1, work)
            # Entries that leave along with this one give back their charge as well.
            loss = present - _explained(b, trial_support, trial_values, left) - charge * (n - 1 - left)
            if loss < least:
                best, least = position, loss
        if least >= charge and n <= max_entries:
            break
        _remove(support, values, n, best)
        n = _refit(gram, b, signed_from, support, values, n - 1, work)
    return n


@numba.njit(cache=True, nogil=True)
def _exchange(
    gram: np.ndarray,
    b: np.ndarray,
    charge: float,
    signed_from: int,
    code: tuple[np.ndarray, np.ndarray],
    trial: tuple[np.ndarray, np.ndarray],
    n: int,
    work: np.ndarray,
    projected: np.ndarray,
) -> int:
    """Try for each entry whether the best column in its place explains more; keep the first improvement."""
    support, values = code
    trial_support, trial_values = trial
    present = _explained(b, support, values, n) - charge * n
    for position in range(n):
        for i in range(n):
            trial_support[i], trial_values[i] = support[i], values[i]
        removed = support[position]
        _remove(trial_support, trial_values, n, position)
        left = _refit(gram, b, signed_from, trial_support, trial_values, n - 1, work)
        column, _ = _best_column(gram, b, signed_from, trial_support, left, removed, work, projected)
        if column < 0:
            continue
        trial_support[left], trial_values[left] = column, 0.0
        left = _refit(gram, b, signed_from, trial_support, trial_values, left + 1, work)
        if _explained(b, trial_support, trial_values, left) - charge * left > present + IMPROVEMENT * abs(present):
            for i in range(left):
                support[i], values[i] = trial_support[i], trial_values[i]
            return left
    return -1


@numba.njit(cache=True, nogil=True)
def solve_row(
    gram: np.ndarray,
    b: np.ndarray,
    charge: float,
    max_entries: int,
    signed_from: int,
    code: tuple[np.ndarray, np.ndarray],
    trial: tuple[np.ndarray, np.ndarray],
    n: int,
    work: np.ndarray,
    projected: np.ndarray,
) -> int:
    """Improve the n entries (columns, values) in `code` of one row's program and return how many there are now.

    `code` and `trial` hold room for one entry more than the larger of n and `max_entries`, `work` is square with three
    rows more, and `projected` has two rows more and one number per column.
    """
    support, values = code
    n = _refit(gram, b, signed_from, support, values, n, work)
    n = _shrink(gram, b, charge, max_entries, signed_from, code, trial, n, work)
    n = _grow(gram, b, charge, max_entries, signed_from, code, n, work, projected)
    for _ in range(max_entries):
        n = _shrink(gram, b, charge, max_entries, signed_from, code, trial, n, work)
        exchanged = _exchange(gram, b, charge, signed_from, code, trial, n, work, projected)
        if exchanged < 0:
            break
        n = _grow(gram, b, charge, max_entries, signed_from, code, exchanged, work, projected)
    return n


@numba.njit(cache=True, nogil=True)
def row_workspace(
    room: int, num_columns: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """Return `code`, `trial`, `work` and `projected` of `solve_row` for rows of at most `room` entries."""
    code = (np.zeros(room + 1, dtype=np.int32), np.zeros(room + 1))
    trial = (np.zeros(room + 1, dtype=np.int32), np.zeros(room + 1))
    return code, trial, np.zeros((room + 3, room + 3)), np.zeros((room + 3, num_columns), dtype=np.float32)


@numba.njit(cache=True, nogil=True)
def _solve_rows_part(
    gram: np.ndarray,
    targets: np.ndarray,
    charge: float,
    max_entries: int,
    signed_from: int,
    start: int,
    stop: int,
    columns: np.ndarray,
    values: np.ndarray,
) -> None:
    room = columns.shape[1]
    code, trial, work, projected = row_workspace(max(room, max_entries), len(gram))
    for row in range(start, stop):
        n = 0
        for slot in range(room):
            if columns[row, slot] >= 0:
                code[0][n], code[1][n] = columns[row, slot], values[row, slot]
                n += 1
        n = solve_row(gram, targets[row], charge, max_entries, signed_from, code, trial, n, work, projected)
        for slot in range(room):
            columns[row, slot] = code[0][slot] if slot < n else -1
            values[row, slot] = code[1][slot] if slot < n else 0


@numba.njit(cache=True, parallel=True, nogil=True)
def solve_rows(
    gram: np.ndarray,
    targets: np.ndarray,
    charge: float,
    max_entries: int,
    signed_from: int,
    columns: np.ndarray,
    values: np.ndarray,
) -> None:
    """Improve every row's code, in place, where all rows have the same Gram matrix G (K, K) and b = targets[row].

    `columns` and `values` (V, S) hold a row's entries, column -1 where a slot is free.
    """
    size = 256
    for part in numba.prange((len(targets) + size - 1) // size):
        stop = min(len(targets), (part + 1) * size)
        _solve_rows_part(gram, targets, charge, max_entries, signed_from, part * size, stop, columns, values)
