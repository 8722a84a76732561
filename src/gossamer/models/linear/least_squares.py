"""Alternating least squares as pure functions: what one side of a factorisation solves while the other stands still."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numba
import numpy as np
from jaxtyping import Float, Float32, Int32, Int64
from scipy import sparse
from threadpoolctl import ThreadpoolController

from gossamer.data.content import read_only
from gossamer.models.linear.compressed import compressed
from gossamer.models.linear.kernels import solve_rows_cg, solve_rows_exactly, top_products


@cache
def _thread_pools() -> ThreadpoolController:
    """Find the BLAS libraries of this process, once: it takes longer than to recommend for one user."""
    return ThreadpoolController()


@contextmanager
def blas_on_one_thread() -> Iterator[None]:
    """Keep BLAS on one thread for the block: idle BLAS threads spin, and take the cores of the compiled loops."""
    with _thread_pools().limit(limits=1, user_api="blas"):
        yield


def balanced_bounds(indptr: np.ndarray, row_cost: int, num_parts: int) -> Int64[np.ndarray, " num_parts+1"]:
    """Cut rows into consecutive parts of about equal work, a row costing its entries and `row_cost` more.

    >>> balanced_bounds(np.array([0, 100, 101, 102, 103]), 0, 2).tolist()
    [0, 1, 4]
    """
    cost = indptr.astype(np.int64) + row_cost * np.arange(len(indptr))
    bounds = np.searchsorted(cost, np.linspace(0, cost[-1], num_parts + 1)[1:-1])
    return np.concatenate([[0], np.minimum(bounds, len(indptr) - 1), [len(indptr) - 1]]).astype(np.int64)


def frequency_penalty(
    matrix: sparse.csr_array, unobserved_weight: float, regularization: float, reg_exponent: float
) -> Float32[np.ndarray, " N"]:
    """Return λ (|I_u| + α M)^ν for every row u (Rendle et al. 2021): rows with more data are held tighter."""
    counts = np.diff(matrix.indptr) + unobserved_weight * matrix.shape[1]
    return np.asarray(regularization * counts**reg_exponent, dtype=np.float32)


def improve_rows(
    matrix: sparse.csr_array,
    other: Float32[np.ndarray, "M D"],
    penalty: Float32[np.ndarray, " N"],
    unobserved_weight: float,
    steps: int | None,
    solution: Float32[np.ndarray, "N D"],
    gram: Float32[np.ndarray, "D D"] | None = None,
) -> float:
    """Improve every row x_u of `solution` in place, given the other side Y, and return the rows' loss.

    Row u minimises Σ_{i∈I_u} w_ui (1 − x_u·y_i)² + α Σ_i (x_u·y_i)² + λ_u ‖x_u‖² (Hu, Koren and Volinsky 2008, eq. 3;
    Rendle et al. 2021). The second sum needs only the Gram matrix YᵀY, which may be given as `gram`. `steps` conjugate
    gradient steps start from the present row; None solves exactly by Cholesky. The loss is Σ_u of the above after the
    step.
    """
    num_rows, width = solution.shape
    with blas_on_one_thread():
        weighted_gram = np.float32(unobserved_weight) * (other.T @ other if gram is None else gram)
        row_cost = width // 2 if steps is not None else width
        bounds = balanced_bounds(matrix.indptr, row_cost, numba.get_num_threads())
        row_loss = np.empty(num_rows)
        if steps is None:
            targets = read_only(np.ones_like(matrix.data))
            equations = (*compressed(matrix), other, weighted_gram, penalty[:, None])
            solve_rows_exactly(equations, targets, bounds, solution, row_loss)
        else:
            equations = (*compressed(matrix), other, weighted_gram, penalty)
            solve_rows_cg(equations, steps, bounds, solution, row_loss)
    return float(row_loss.sum())


def best_products(
    users: Float32[np.ndarray, "B D"], items: Float32[np.ndarray, "M D"], n: int, seen: sparse.csr_array | None
) -> tuple[Int32[np.ndarray, "B n"], Float32[np.ndarray, "B n"]]:
    """Return items and scores of the n largest x_u·y_i of every user, as `core.topk.top_n` does, without a B × M block.

    >>> items, _ = best_products(np.eye(2, dtype=np.float32), np.array([[1, 0], [3, 2]], dtype=np.float32), 1, None)
    >>> items.tolist()
    [[1], [1]]
    """
    top_items = np.empty((len(users), n), dtype=np.int32)
    top_scores = np.empty((len(users), n), dtype=np.float32)
    nothing = (np.zeros(len(users) + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    indptr, indices = nothing if seen is None else compressed(seen)[:2]
    with blas_on_one_thread():
        top_products(users, items.T, (read_only(indptr), read_only(indices)), top_items, top_scores)
    return top_items, top_scores


def penalty_loss(penalty: Float32[np.ndarray, " N"], factors: Float32[np.ndarray, "N D"]) -> float:
    """Return Σ_u λ_u ‖x_u‖², in double precision."""
    return float(np.einsum("nd,nd->n", factors, factors).astype(np.float64) @ penalty.astype(np.float64))


def ridge_rows(
    residual: sparse.csr_array,
    other: Float32[np.ndarray, "M D"],
    penalty: Float32[np.ndarray, "N D"],
    solution: Float32[np.ndarray, "N D"],
) -> float:
    """Set every row x_u of `solution` to the ridge regression of its stored residuals on the other side's rows.

    x_u = argmin Σ_{i∈I_u} (e_ui − x_u·y_i)² + Σ_d λ_ud x_ud². Returns Σ_u of the minimum.
    """
    width = other.shape[1]
    nothing = np.zeros((width, width), dtype=np.float32)
    bounds = balanced_bounds(residual.indptr, width, numba.get_num_threads())
    row_loss = np.empty(len(solution))
    with blas_on_one_thread():
        indptr, indices, targets = compressed(residual)
        equations = (indptr, indices, read_only(np.ones_like(targets)), other, nothing, penalty)
        solve_rows_exactly(equations, targets, bounds, solution, row_loss)
    return float(row_loss.sum())


def with_constant(factors: Float32[np.ndarray, "N D"]) -> Float32[np.ndarray, "N D"]:
    """Return [bias, factors] rows with the bias column set to 1: what the other side's rows regress on."""
    design = factors.copy()
    design[:, 0] = 1
    return design


def predict_ratings(
    mean: float,
    user_rows: Float[np.ndarray, "n D"],
    item_rows: Float[np.ndarray, "n D"],
) -> Float[np.ndarray, " n"]:
    """Return μ + b_u + b_i + p_u·q_i for pairs of rows [bias, factors] (Koren, Bell and Volinsky 2009, eq. 4)."""
    interaction = np.einsum("nd,nd->n", user_rows[:, 1:], item_rows[:, 1:])
    return np.asarray(mean + user_rows[:, 0] + item_rows[:, 0] + interaction)
