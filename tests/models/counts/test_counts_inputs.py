import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from gossamer.models.counts import inputs
from gossamer.models.counts.inputs import KINDS, InputFeatures


def documents(seed=0, num_rows=7, num_terms=6):
    counts = np.random.default_rng(seed).poisson(0.9, (num_rows, num_terms)).astype(np.float32)
    counts[2] = 0
    counts[:, 4] = 0  # a term that never occurs
    return sparse.csr_array(counts)


def features_of(matrix, values):
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape).toarray()


@given(st.integers(0, 1000))
def test_tfidf_is_that_of_scikit_learn(seed):
    train, new = documents(seed), documents(seed + 1)
    theirs = TfidfTransformer().fit(train)
    ours = InputFeatures().fit(train)
    for matrix in (train, new):
        np.testing.assert_allclose(
            features_of(matrix, ours.values(matrix)), theirs.transform(matrix).toarray(), rtol=1e-5, atol=1e-7
        )


def test_other_kinds_against_dense_arithmetic():
    matrix = documents()
    dense = matrix.toarray()
    sums = np.maximum(dense.sum(axis=1, keepdims=True), 1)
    norms = np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1)
    for kind, expected in {"counts": dense, "norm": dense / sums, "l2": dense / norms}.items():
        values = InputFeatures(kind).fit(matrix).values(matrix)
        assert values.dtype == np.float32
        np.testing.assert_allclose(features_of(matrix, values), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_scale_multiplies_and_the_data_stay_as_they_are(kind):
    matrix = documents()
    before = matrix.data.copy()
    plain, scaled = (InputFeatures(kind, scale).fit(matrix).values(matrix) for scale in (1.0, 5.0))
    np.testing.assert_allclose(scaled, 5 * plain, rtol=1e-6)
    np.testing.assert_array_equal(matrix.data, before)


def test_counts_are_a_copy():
    matrix = documents()
    values = InputFeatures("counts").fit(matrix).values(matrix)
    assert not np.shares_memory(values, matrix.data)


def test_stored_zeros_are_no_occurrences():
    matrix = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 1.0]], dtype=np.float32))
    matrix.data[1] = 0
    without = matrix.copy()
    without.eliminate_zeros()
    np.testing.assert_array_equal(InputFeatures().fit(matrix).idf, InputFeatures().fit(without).idf)


@pytest.mark.parametrize("kind", KINDS)
def test_a_matrix_of_nothing_has_no_features(kind):
    empty = sparse.csr_array((3, 4), dtype=np.float32)
    assert InputFeatures(kind).fit(empty).values(empty).shape == (0,)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_rows_change_nothing(kind, monkeypatch):
    matrix = documents()
    whole = InputFeatures(kind).fit(matrix).values(matrix)
    monkeypatch.setattr(inputs, "ROWS_AT_ONCE", 2)
    np.testing.assert_array_equal(InputFeatures(kind).fit(matrix).values(matrix), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_restored_features_are_equal(kind):
    matrix = documents()
    fitted = InputFeatures(kind).fit(matrix)
    restored = InputFeatures(kind).restore(fitted.learned_arrays())
    np.testing.assert_array_equal(restored.values(matrix), fitted.values(matrix))


def test_bad_arguments():
    matrix = documents()
    with pytest.raises(ValueError, match="kind must be one of 'tfidf', 'norm', 'counts', 'l2', got 'tf'"):
        InputFeatures("tf")
    with pytest.raises(ValueError, match="scale must be a finite number > 0, got 0"):
        InputFeatures(scale=0)
    with pytest.raises(RuntimeError, match="fit"):
        InputFeatures().values(matrix)
    with pytest.raises(ValueError, match="matrix must have 6 columns as at fit, got 3"):
        InputFeatures().fit(matrix).values(matrix[:, :3])
    with pytest.raises(ValueError, match="arrays must include 'idf'"):
        InputFeatures().restore({})
    with pytest.raises(ValueError, match=r"array 'idf' must have shape \(5\), got \(6,\)"):
        InputFeatures().restore(InputFeatures().fit(matrix).learned_arrays(), 5)
