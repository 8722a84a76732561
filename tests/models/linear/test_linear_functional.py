from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from gossamer.models.linear import functional
from gossamer.testing import oracles


def random_matrix(seed: int = 0, shape: tuple[int, int] = (40, 12), density: float = 0.3) -> sparse.csr_array:
    generator = np.random.default_rng(seed)
    dense = (generator.random(shape) < density) * generator.integers(1, 4, shape)
    return sparse.csr_array(dense.astype(np.float32))


def test_gram_blocks_are_the_gram_matrix_in_order(monkeypatch: pytest.MonkeyPatch):
    matrix = random_matrix()
    monkeypatch.setattr(functional, "batch_rows", lambda _: 5)
    blocks = [(first, block.copy()) for first, block in functional.gram_blocks(matrix, "counting")]
    assert [first for first, _ in blocks] == [0, 5, 10]
    dense = matrix.toarray()
    np.testing.assert_array_equal(np.vstack([block for _, block in blocks]), dense.T @ dense)


def test_gram_until_the_diagonal_is_its_lower_triangle():
    matrix = random_matrix()
    block = np.empty((4, 12), dtype=np.float32)
    functional.fill_gram(matrix, matrix.tocsc(), 6, block, until_diagonal=True)
    dense = matrix.toarray()
    np.testing.assert_array_equal(block, np.tril(dense.T @ dense)[6:10])


@pytest.mark.parametrize(("num_neighbours", "shrinkage"), [(3, 0.0), (5, 10.0), (100, 0.5)])
def test_cosine_neighbours_match_brute_force(num_neighbours: int, shrinkage: float, monkeypatch: pytest.MonkeyPatch):
    matrix = random_matrix()
    monkeypatch.setattr(functional, "batch_rows", lambda _: 5)
    weights = functional.cosine_neighbours(matrix, num_neighbours, shrinkage)
    expected = oracles.cosine_weights(matrix.toarray(), num_neighbours, shrinkage)
    np.testing.assert_allclose(weights.toarray(), expected, rtol=1e-5)
    assert weights.has_canonical_format


def test_items_without_common_users_are_no_neighbours():
    matrix = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1]], dtype=np.float32))
    assert functional.cosine_neighbours(matrix, 2, 0.0).nnz == 2


def test_idf_gives_less_weight_to_users_who_took_more():
    weighted = functional.weight_by_idf(random_matrix()).toarray()
    counts = np.diff(random_matrix().indptr)
    expected = random_matrix().toarray() * np.log(12 / np.maximum(counts, 1))[:, None]
    np.testing.assert_allclose(weighted, expected, rtol=1e-6)


def test_bm25_matches_its_formula():
    matrix = random_matrix()
    dense = matrix.toarray()
    lengths = dense.sum(axis=0)
    saturated = dense * 2.2 / (dense + 1.2 * (0.25 + 0.75 * lengths / lengths.mean()))
    expected = saturated * np.log(12 / np.maximum(np.count_nonzero(dense, axis=1), 1))[:, None]
    np.testing.assert_allclose(functional.weight_by_bm25(matrix).toarray(), expected, rtol=1e-5)


@pytest.mark.parametrize("regularization", [0.5, 20.0])
@pytest.mark.parametrize("num_items", [1, 12, 150])
def test_ease_matches_one_ridge_regression_per_item(regularization: float, num_items: int):
    matrix = random_matrix(shape=(200, num_items))
    weights = functional.ease_weights(matrix, regularization)
    assert weights.flags.c_contiguous
    np.testing.assert_allclose(weights, oracles.ease_weights(matrix.toarray(), regularization), atol=2e-4)


def test_ease_matches_the_closed_form_by_numpy():
    dense = random_matrix(1).toarray().astype(np.float64)
    inverse = np.linalg.inv(dense.T @ dense + 3 * np.eye(12))
    expected = np.eye(12) - inverse / np.diag(inverse)
    np.testing.assert_allclose(functional.ease_weights(random_matrix(1), 3.0), expected, atol=1e-4)


def test_ease_keeps_one_matrix_of_items_by_items():
    """LAPACK must work in the buffer that it was given: what comes back is the memory that the Gram matrix was in."""
    matrix = random_matrix(shape=(300, 600), density=0.02)
    functional.ease_weights(matrix, 5.0)
    tracemalloc.start()
    weights = functional.ease_weights(matrix, 5.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.3 * weights.nbytes


def test_ease_says_when_single_precision_does_not_suffice():
    twins = sparse.csr_array(np.full((5000, 3), 30.0, dtype=np.float32))
    with pytest.raises(ValueError, match=r"^regularization must be large enough for single precision .* got 1e-06"):
        functional.ease_weights(twins, 1e-6)


@pytest.mark.parametrize("dense_from", [0.0, 2.0])
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize(("l1", "l2"), [(0.5, 1.0), (5.0, 10.0)])
def test_slim_matches_an_elastic_net_per_item(
    nonnegative: bool, l1: float, l2: float, dense_from: float, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(functional, "DENSE_FROM", dense_from)
    matrix = random_matrix(2, (60, 10))
    weights = functional.slim_weights(matrix, l1, l2, nonnegative=nonnegative, max_sweeps=2000, tolerance=1e-6)
    expected = oracles.slim_weights(matrix.toarray().astype(np.float64), l1, l2, nonnegative=nonnegative)
    np.testing.assert_allclose(weights.toarray(), expected, atol=1e-4)
    if not nonnegative and l1 < 1:
        assert weights.data.min() < 0


@given(st.integers(0, 10_000), st.booleans())
def test_slim_has_a_zero_diagonal_and_the_sign_it_was_asked_for(seed: int, nonnegative: bool):
    weights = functional.slim_weights(random_matrix(seed, (15, 6)), 0.3, 1.0, nonnegative=nonnegative)
    assert not weights.diagonal().any()
    assert not nonnegative or (weights.data > 0).all()


@given(st.integers(0, 10_000))
def test_scores_are_the_matrix_product_for_dense_and_sparse_weights(seed: int):
    history = random_matrix(seed, (7, 9))
    weights = random_matrix(seed + 1, (9, 9))
    expected = history.toarray() @ weights.toarray()
    np.testing.assert_allclose(functional.score_items(history, weights), expected, rtol=1e-6)
    np.testing.assert_allclose(functional.score_items(history, weights.toarray()), expected, rtol=1e-6)
