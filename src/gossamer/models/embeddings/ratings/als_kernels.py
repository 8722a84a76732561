"""Compiled loops of the alternating solver for ratings: normal equations of rows, and sparse codes under them.

A parallel loop only calls a plain function: numba takes several times longer to compile what stands inside it.
"""

from __future__ import annotations

import numba
import numpy as np

from gossamer.models.embeddings.sparse_kernels import row_workspace, solve_row

PART = 32  # rows of one part of a parallel loop: costs differ a lot between rows


@numba.njit(cache=True, fastmath=True, nogil=True)
def _add_row_equations(
    chosen: np.ndarray,
    targets: np.ndarray,
    other: np.ndarray,
    covariances: np.ndarray,
    gram: np.ndarray,
    right: np.ndarray,
) -> None:
    """Add Σ_k (y_k y_kᵀ + C_k) to `gram` and Σ_k r_k y_k to `right`, over the row's ratings r_k of y_k = other[k]."""
    width = len(right)
    for k in range(len(chosen)):
        y, covariance, target = other[chosen[k]], covariances[chosen[k]], targets[k]
        for a in range(width):
            line, extra, factor = gram[a], covariance[a], y[a]
            right[a] += target * factor
            for b in range(a + 1):
                line[b] += factor * y[b] + extra[b]
    for a in range(width):
        for b in range(a):
            gram[b, a] = gram[a, b]


@numba.njit(cache=True, parallel=True, nogil=True)
def add_equations(
    ratings: tuple[np.ndarray, np.ndarray, np.ndarray],
    other: np.ndarray,
    covariances: np.ndarray,
    grams: np.ndarray,
    rights: np.ndarray,
) -> None:
    """Add every row's normal equations to grams (V, D, D) and rights (V, D).

    `ratings` is CSR (indptr, indices, data) over the rows y of `other` (M, D), whose covariances are (M, D, D): the
    expected squared error over an uncertain y is that of its mean plus xᵀ C x.
    """
    indptr, indices, data = ratings
    for part in numba.prange((len(rights) + PART - 1) // PART):
        for row in range(part * PART, min(len(rights), (part + 1) * PART)):
            begin, end = indptr[row], indptr[row + 1]
            _add_row_equations(indices[begin:end], data[begin:end], other, covariances, grams[row], rights[row])


@numba.njit(cache=True, fastmath=True, nogil=True)
def _lift(anchors: np.ndarray, gram: np.ndarray, half: np.ndarray, lifted: np.ndarray) -> None:
    """Set `lifted` to A G Aᵀ by way of half = G Aᵀ; `anchors` is Aᵀ (D, K)."""
    width, num_anchors = anchors.shape
    for a in range(width):
        line = half[a]
        for k in range(num_anchors):
            line[k] = 0
        for b in range(width):
            factor, own = gram[a, b], anchors[b]
            for k in range(num_anchors):
                line[k] += factor * own[k]
    for j in range(num_anchors):
        line = lifted[j]
        for k in range(num_anchors):
            line[k] = 0
        for a in range(width):
            factor, own = anchors[a, j], half[a]
            for k in range(num_anchors):
                line[k] += factor * own[k]


@numba.njit(cache=True, nogil=True)
def _code_part(
    anchors: np.ndarray,
    equations: tuple[np.ndarray, np.ndarray],
    charge: float,
    signed_from: int,
    start: int,
    stop: int,
    codes: tuple[np.ndarray, np.ndarray],
) -> None:
    grams, rights = equations
    columns, values = codes
    width, num_anchors = anchors.shape
    room = columns.shape[1]
    code, trial, work, projected = row_workspace(room, num_anchors)
    half = np.empty((width, num_anchors), dtype=np.float32)
    lifted = np.empty((num_anchors, num_anchors), dtype=np.float32)
    right = np.empty(num_anchors, dtype=np.float32)
    for row in range(start, stop):
        _lift(anchors, grams[row], half, lifted)
        for k in range(num_anchors):
            right[k] = 0
        for a in range(width):
            for k in range(num_anchors):
                right[k] += rights[row, a] * anchors[a, k]
        n = 0
        for slot in range(room):
            if columns[row, slot] >= 0:
                code[0][n], code[1][n] = columns[row, slot], values[row, slot]
                n += 1
        n = solve_row(lifted, right, charge, room, signed_from, code, trial, n, work, projected)
        for slot in range(room):
            columns[row, slot] = code[0][slot] if slot < n else -1
            values[row, slot] = code[1][slot] if slot < n else 0


@numba.njit(cache=True, parallel=True, nogil=True)
def code_equations(
    anchors: np.ndarray,
    equations: tuple[np.ndarray, np.ndarray],
    charge: float,
    signed_from: int,
    codes: tuple[np.ndarray, np.ndarray],
) -> None:
    """Improve every row's code in place: min over t of eᵀG e − 2 cᵀe + charge · ‖t‖₀ with e = Σ_k t_k a_k.

    `anchors` is (D, K), `equations` are G (V, D, D) and c (V, D), `codes` columns and values (V, S); an entry is ≥ 0
    unless its column is `signed_from` or later.
    """
    num_rows = len(equations[1])
    for part in numba.prange((num_rows + PART - 1) // PART):
        stop = min(num_rows, (part + 1) * PART)
        _code_part(anchors, equations, charge, signed_from, part * PART, stop, codes)
