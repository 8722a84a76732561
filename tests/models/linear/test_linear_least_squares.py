from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from gossamer.core.topk import top_n
from gossamer.models.linear import kernels
from gossamer.models.linear.least_squares import (
    balanced_bounds,
    best_products,
    frequency_penalty,
    improve_rows,
    penalty_loss,
    predict_ratings,
    ridge_rows,
    with_constant,
)
from gossamer.testing import oracles

ALPHA = 0.2


def problem(width: int, seed: int = 0) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Return weights with an empty and a full row, the other side's factors, and penalties."""
    generator = np.random.default_rng(seed)
    dense = (generator.random((23, 11)) < 0.4) * generator.integers(1, 4, (23, 11))
    dense[0], dense[1] = 0, 1
    matrix = sparse.csr_array(dense.astype(np.float32))
    other = generator.standard_normal((11, width)).astype(np.float32)
    return matrix, other, frequency_penalty(matrix, ALPHA, 0.05, 0.8)


def test_penalty_grows_with_the_row_as_in_the_paper():
    matrix, _, penalty = problem(2)
    counts = np.diff(matrix.indptr)
    np.testing.assert_allclose(penalty, 0.05 * (counts + ALPHA * 11) ** 0.8, rtol=1e-6)


@pytest.mark.parametrize("width", [1, 2, 4, 7, 33])
@pytest.mark.parametrize("steps", [None, 200])
def test_rows_match_the_dense_normal_equations(width: int, steps: int | None):
    matrix, other, penalty = problem(width)
    solution = np.zeros((23, width), dtype=np.float32)
    for _ in range(1 if steps is None else 3):  # restarts rid conjugate gradients of single-precision drift
        loss = improve_rows(matrix, other, penalty, ALPHA, steps, solution)
    dense = matrix.toarray().astype(np.float64)
    expected = oracles.ials_rows(dense, other.astype(np.float64), penalty, ALPHA)
    np.testing.assert_allclose(solution, expected, atol=3e-4)
    total = oracles.ials_loss(dense, solution, other, penalty, np.zeros(11), ALPHA)
    assert loss == pytest.approx(total, rel=1e-4)


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 4))
def test_a_conjugate_gradient_step_never_raises_the_loss_and_reports_it_rightly(seed: int, width: int, steps: int):
    matrix, other, penalty = problem(width, seed)
    dense = matrix.toarray().astype(np.float64)
    solution = np.random.default_rng(seed).standard_normal((23, width)).astype(np.float32)
    before = oracles.ials_loss(dense, solution, other, penalty, np.zeros(11), ALPHA)
    for _ in range(3):
        loss = improve_rows(matrix, other, penalty, ALPHA, steps, solution)
        assert loss <= before + 1e-4 * abs(before)
        assert loss == pytest.approx(oracles.ials_loss(dense, solution, other, penalty, np.zeros(11), ALPHA), rel=1e-3)
        before = loss


def test_rows_too_long_to_gather_are_solved_alike():
    """Rows longer than the gathering buffer are read where they lie."""
    width = 512
    length = kernels.GATHER_BYTES // (4 * width) + 3
    generator = np.random.default_rng(0)
    other = (0.01 * generator.standard_normal((length, width))).astype(np.float32)
    matrix = sparse.csr_array(np.vstack([np.ones(length), np.arange(length) < 4]).astype(np.float32))
    penalty = frequency_penalty(matrix, ALPHA, 0.01, 1.0)
    by_cg, exact = np.zeros((2, width), dtype=np.float32), np.zeros((2, width), dtype=np.float32)
    improve_rows(matrix, other, penalty, ALPHA, 30, by_cg)
    improve_rows(matrix, other, penalty, ALPHA, None, exact)
    np.testing.assert_allclose(by_cg, exact, atol=1e-3)


def test_penalty_loss_weighs_squared_rows():
    factors = np.array([[1, 2], [0, 3]], dtype=np.float32)
    assert penalty_loss(np.array([1, 10], dtype=np.float32), factors) == 5 + 90


@pytest.mark.parametrize("width", [1, 3, 6])
def test_ridge_rows_match_dense_ridge_regressions(width: int):
    matrix, other, _ = problem(width)
    penalty = np.random.default_rng(1).uniform(0.5, 2, (23, width)).astype(np.float32)
    solution = np.empty((23, width), dtype=np.float32)
    loss = ridge_rows(matrix, other, penalty, solution)
    dense = matrix.toarray().astype(np.float64)
    expected = oracles.ridge_rows(dense, dense != 0, other.astype(np.float64), penalty)
    np.testing.assert_allclose(solution, expected, atol=1e-4)
    residual = (dense != 0) * (dense - expected @ other.T)
    assert loss == pytest.approx(np.sum(residual**2) + np.sum(penalty * expected**2), rel=1e-4)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(0, 5), st.integers(1, 8))
def test_bounds_cut_all_rows_into_parts_in_order(lengths: list[int], row_cost: int, num_parts: int):
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    bounds = balanced_bounds(indptr, row_cost, num_parts)
    assert len(bounds) == num_parts + 1
    assert bounds[0] == 0
    assert bounds[-1] == len(lengths)
    assert (np.diff(bounds) >= 0).all()
    cost = np.array(lengths) + row_cost
    shares = [cost[start:stop].sum() for start, stop in itertools.pairwise(bounds)]
    assert max(shares) <= cost.sum() / num_parts + cost.max()


def test_predictions_add_mean_biases_and_match():
    users = np.array([[0.5, 1, 2]], dtype=np.float32)
    items = np.array([[-1, 3, 4]], dtype=np.float32)
    assert predict_ratings(3.0, users, items).tolist() == [3 + 0.5 - 1 + 3 + 8]
    assert with_constant(items).tolist() == [[1, 3, 4]]
    assert items[0, 0] == -1


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 12), st.booleans())
def test_best_products_are_those_of_the_whole_block(seed: int, num_users: int, n: int, exclude: bool):
    rng = np.random.default_rng(seed)
    # Small whole numbers: ties are common, and products are exact however they are summed.
    users = rng.integers(-2, 3, (num_users, 4)).astype(np.float32)
    items = rng.integers(-2, 3, (9, 4)).astype(np.float32)
    seen = sparse.csr_array(rng.random((num_users, 9)) < 0.4) if exclude else None
    found = best_products(users, items, n, seen)
    expected = top_n(users @ items.T, n, seen)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
