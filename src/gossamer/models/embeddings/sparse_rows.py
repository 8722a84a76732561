"""Write rows of a table as sparse combinations of a few vectors, and find those vectors: E ≈ T·A from a given E."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32
from scipy import linalg, sparse

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.models.embeddings.sparse_kernels import solve_rows
from gossamer.models.embeddings.table import ROWS_AT_ONCE

ROWS_FOR_A_START = 1 << 15  # anchors are chosen among this many rows at most


def code_rows(
    weight: Float[np.ndarray, "V D"],
    anchors: Float[np.ndarray, "K D"],
    num_slots: int,
    *,
    nonnegative: bool = True,
    charge: float = 0.0,
    start: sparse.csr_array | None = None,
) -> sparse.csr_array:
    """Return sparse codes T (V, K) with T·A ≈ weight: row i minimises ‖w_i − t_i A‖² + charge · ‖t_i‖₀.

    A row has `num_slots` entries at most, non-negative unless told otherwise. The best set of columns is found by
    greedy search with exact refits, exchange and elimination (`sparse_kernels`): exact for orthogonal anchors, better
    than orthogonal matching pursuit on average otherwise. `start` gives codes to improve on.

    >>> code_rows(np.array([[3.0, 4.0]]), np.eye(2), 1).toarray().round(2).tolist()
    [[0.0, 4.0]]
    """
    weight, anchors = _check_table("weight", weight), _check_table("anchors", anchors)
    if anchors.shape[1] != weight.shape[1]:
        raise ValueError(f"anchors must have the {weight.shape[1]} columns of weight, got {anchors.shape[1]}")
    check_int("num_slots", num_slots, at_least=1)
    check_real("charge", charge, at_least=0)
    num_rows, num_anchors = len(weight), len(anchors)
    if start is not None and start.shape != (num_rows, num_anchors):
        raise ValueError(f"start must have shape {(num_rows, num_anchors)}, got {start.shape}")
    num_slots = min(num_slots, num_anchors)
    columns, values = slots_of(start, num_slots) if start is not None else free_slots(num_rows, num_slots)
    gram = anchors @ anchors.T
    signed_from = num_anchors if nonnegative else 0
    for begin in range(0, num_rows, ROWS_AT_ONCE):
        block = slice(begin, begin + ROWS_AT_ONCE)
        targets = weight[block] @ anchors.T
        solve_rows(gram, targets, charge, num_slots, signed_from, columns[block], values[block])
    return csr_of(columns, values, num_anchors)


def fit_codes(
    weight: Float[np.ndarray, "V D"],
    num_anchors: int,
    num_slots: int,
    *,
    nonnegative: bool = True,
    sweeps: int = 10,
    random_state: RandomState = 0,
) -> tuple[Float32[np.ndarray, "K D"], sparse.csr_array]:
    """Return anchors A and sparse codes T (V, K) that minimise ‖weight − T·A‖² by alternating exact fits.

    Anchors begin as rows of the table that lie far apart (k-means++). A sweep codes every row (`code_rows`, from its
    present code) and then solves for all anchors by least squares; an anchor that no row uses begins anew at the row
    that is represented worst. The error never rises but for such new beginnings.
    """
    weight = _check_table("weight", weight)
    check_int("num_anchors", num_anchors, at_least=1, at_most=len(weight))
    check_int("num_slots", num_slots, at_least=1)
    check_int("sweeps", sweeps, at_least=1)
    generator = numpy_generator(random_state)
    anchors = _first_anchors(weight, num_anchors, generator)
    codes = code_rows(weight, anchors, num_slots, nonnegative=nonnegative)
    for _ in range(sweeps):
        anchors = _solve_anchors(weight, codes, anchors)
        codes = code_rows(weight, anchors, num_slots, nonnegative=nonnegative, start=codes)
    return anchors, codes


def _first_anchors(weight: np.ndarray, num_anchors: int, generator: np.random.Generator) -> np.ndarray:
    """Return rows of the table that are far apart, among a sample of its rows."""
    from sklearn.cluster import kmeans_plusplus  # half a second that only this start is worth

    size = min(len(weight), max(ROWS_FOR_A_START, num_anchors))
    sample = weight if size == len(weight) else weight[generator.choice(len(weight), size, replace=False)]
    _, chosen = kmeans_plusplus(sample, num_anchors, random_state=int(generator.integers(2**31)))
    return np.ascontiguousarray(sample[chosen])


def _solve_anchors(weight: np.ndarray, codes: sparse.csr_array, anchors: np.ndarray) -> np.ndarray:
    """Return the anchors of least squared error for these codes; unused ones become the worst represented rows."""
    gram = (codes.T @ codes).toarray().astype(np.float64)
    used = np.diag(gram) > 0
    gram = gram[np.ix_(used, used)]
    gram[np.diag_indices_from(gram)] *= 1 + 1e-6  # anchors that always occur together
    solved = anchors.copy()
    solved[used] = linalg.solve(gram, (codes.T @ weight)[used].astype(np.float64), assume_a="pos")
    missing = np.flatnonzero(~used)
    if len(missing):
        error = np.square(weight - codes @ solved).sum(axis=1)
        solved[missing] = weight[np.argsort(-error, kind="stable")[: len(missing)]]
    return solved


def free_slots(num_rows: int, num_slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns (V, S), all -1, and values (V, S), all 0: rows without entries."""
    return np.full((num_rows, num_slots), -1, dtype=np.int32), np.zeros((num_rows, num_slots), dtype=np.float32)


def slots_of(codes: sparse.csr_array, num_slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a sparse matrix as columns and values (V, S), the largest `num_slots` entries of each row.

    >>> slots_of(sparse.csr_array(np.array([[0.0, 2.0, 1.0]])), 2)[0]
    array([[1, 2]], dtype=int32)
    """
    columns, values = free_slots(codes.shape[0], num_slots)
    rows = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
    order = np.lexsort((-np.abs(codes.data), rows))
    slot = np.arange(len(order)) - codes.indptr[rows[order]]
    kept = slot < num_slots
    columns[rows[order][kept], slot[kept]] = codes.indices[order][kept]
    values[rows[order][kept], slot[kept]] = codes.data[order][kept]
    return columns, values


def csr_of(columns: np.ndarray, values: np.ndarray, num_columns: int) -> sparse.csr_array:
    """Return columns and values (V, S) as a sparse matrix (V, num_columns) with sorted rows and no stored zeros."""
    filled = (columns >= 0) & (values != 0)
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    codes = sparse.csr_array((values[filled], columns[filled], indptr), shape=(len(columns), num_columns))
    codes.sort_indices()
    return codes


def _check_table(name: str, table: np.ndarray) -> np.ndarray:
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"{name} must be a matrix with at least one row and column, got shape {table.shape}")
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise ValueError(f"{name} must be finite, got NaN or infinity in row {row}")
    return np.ascontiguousarray(table, dtype=np.float32)
