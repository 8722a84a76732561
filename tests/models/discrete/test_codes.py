"""Nearest codes are exact, whatever the codes, the similarity and k; bad input is answered with a sentence."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from code_oracle import brute_force
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.exceptions import NotFittedError

from gossamer.models.discrete.codes import SIMILARITIES, SparseCodes
from gossamer.persistence import ArtifactError, read_artifact

BLOCK = 4096


def random_codes(num_rows: int, num_features: int, density: float, *, highest: int = 1, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    is_on = rng.random((num_rows, num_features)) < density
    return is_on * rng.integers(1, highest + 1, is_on.shape)


def check_exact(codes: np.ndarray, queries: np.ndarray, k: int, similarity: str) -> None:
    found = SparseCodes(similarity=similarity).fit(sparse.csr_array(codes)).search(sparse.csr_array(queries), k)
    rows, similarities = brute_force(codes, queries, k, similarity)
    assert found.rows.tolist() == rows
    np.testing.assert_allclose(found.similarities, similarities, rtol=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_search_is_brute_force(similarity: str, data: st.DataObject) -> None:
    num_features = data.draw(st.integers(1, 12))
    # Few values and features, so that empty rows, equal rows and ties are the rule.
    count = st.sampled_from([0, 0, 0, 1, 1, 2, 5])
    draw_rows = st.integers(1, 30).flatmap(lambda n: hnp.arrays(np.int64, (n, num_features), elements=count))
    check_exact(data.draw(draw_rows), data.draw(draw_rows), data.draw(st.integers(1, 40)), similarity)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(
    ("num_rows", "num_features", "density", "highest"),
    [
        (BLOCK, 6, 0.4, 1),  # a full block, full of ties
        (BLOCK + 1, 40, 0.15, 1),  # a block of one row
        (2 * BLOCK + 700, 50, 0.02, 3),  # features stored as lists, counts
    ],
)
def test_search_over_blocks(similarity: str, num_rows: int, num_features: int, density: float, highest: int) -> None:
    codes = random_codes(num_rows, num_features, density, highest=highest)
    queries = np.vstack([codes[[0, -1]], random_codes(2, num_features, density, highest=highest + 1, seed=1)])
    check_exact(codes, queries, 12, similarity)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_many_active_features_and_long_queries(similarity: str) -> None:
    codes = random_codes(300, 400, 0.5)
    check_exact(codes, np.vstack([np.ones((1, 400)), codes[:1]]), 5, similarity)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_batches_give_what_single_queries_give(similarity: str) -> None:
    codes = random_codes(3000, 30, 0.2)
    queries = random_codes(150, 30, 0.2, seed=1)
    search = SparseCodes(similarity=similarity).fit(codes)
    at_once = search.search(queries, 7)
    one_by_one = [search.search(query, 7) for query in queries]
    assert at_once.rows.tolist() == [found.rows[0].tolist() for found in one_by_one]
    assert at_once.similarities.tolist() == [found.similarities[0].tolist() for found in one_by_one]


def test_neighbours_of_planted_codes_are_of_their_class() -> None:
    rng = np.random.default_rng(0)
    prototypes = random_codes(20, 100, 0.1)
    classes = rng.integers(0, 20, 5000)
    codes = prototypes[classes] * (rng.random((5000, 100)) > 0.3)
    found = SparseCodes().fit(codes[500:]).search(codes[:500], 10)
    assert np.mean(classes[500:][found.rows] == classes[:500, None]) > 0.97


def test_a_stored_code_finds_itself_and_its_doubles_in_order() -> None:
    codes = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 0, 0], [1, 0, 1]])
    search = SparseCodes().fit(codes)
    for similarity in SIMILARITIES:
        assert search.search(codes[2], 3, similarity=similarity).rows.tolist() == [[0, 2, 4]]
    assert search.search(codes[3], 1).similarities.tolist() == [[1.0]]


def test_k_above_the_number_of_codes_returns_all() -> None:
    found = SparseCodes().fit(np.eye(3, dtype=int)).search(np.eye(3, dtype=int)[1], 10)
    assert found.rows.tolist() == [[1, 0, 2]]


def test_every_form_of_query() -> None:
    codes = np.array([[1, 0], [0, 1]])
    search = SparseCodes().fit(codes)
    for query in ([0, 1], np.array([[False, True]]), sparse.coo_array([[0.0, 1.0]]), sparse.csr_matrix([[0, 1]])):
        assert search.search(query, 1).rows.tolist() == [[1]]
    assert search.search(np.zeros((0, 2)), 1).rows.shape == (0, 1)


def test_repeated_entries_of_a_query_are_added() -> None:
    repeated = sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    assert SparseCodes().fit([[0, 1], [0, 2]]).search(repeated, 1).rows.tolist() == [[1]]
    assert repeated.nnz == 2  # the caller's matrix is as it was


def test_names_and_stored_rows() -> None:
    codes = np.array([[1, 0, 3], [0, 1, 0], [0, 0, 0]])
    search = SparseCodes().fit(codes, names=["a", "b", "c"])
    assert search.search(codes[1], 1).names == [["b"]]
    assert search.rows([2, 0]).toarray().tolist() == [[0, 0, 0], [1, 0, 3]]
    assert search.named(["b"]).toarray().tolist() == [[0, 1, 0]]
    assert search.rows([]).shape == (0, 3)
    assert SparseCodes().fit(codes).search(codes[1], 1).names is None
    with pytest.raises(ValueError, match="name must be one of the 3 known ones"):
        search.named(["d"])


def test_a_million_float_vectors_would_need_eight_times_the_bytes() -> None:
    codes = random_codes(20_000, 200, 0.1)
    search = SparseCodes().fit(codes)
    assert len(search) == 20_000
    assert search.nbytes <= 20_480 * 64 * 4 / 8


def test_rare_features_cost_what_they_hold() -> None:
    codes = random_codes(BLOCK, 5000, 0.004)  # about 20 of 5,000
    assert SparseCodes().fit(codes).nbytes < 64 * BLOCK < 5000 / 8 * BLOCK


def test_saved_codes_come_back(tmp_path: Path) -> None:
    codes = random_codes(5000, 30, 0.1, highest=2)
    search = SparseCodes(similarity="cosine").fit(codes, names=[f"row {row}" for row in range(5000)])
    search.save(tmp_path / "codes")
    again = SparseCodes.load(tmp_path / "codes")
    assert again.names_ == search.names_
    assert again.nbytes == search.nbytes
    before, after = search.search(codes[:20], 5), again.search(codes[:20], 5)
    assert before.rows.tolist() == after.rows.tolist()
    assert before.names == after.names


def test_unnamed_codes_come_back(tmp_path: Path) -> None:
    SparseCodes().fit(np.eye(3, dtype=int)).save(tmp_path / "codes")
    assert read_artifact(tmp_path / "codes").estimator.search([0, 0, 1], 1).rows.tolist() == [[2]]


def test_names_of_another_length_are_not_restored() -> None:
    search = SparseCodes().fit(np.eye(3, dtype=int), names=["a", "b", "c"])
    with pytest.raises(ValueError, match="names must be as many as the 2 codes, got 3"):
        SparseCodes().restore(search.learned_arrays(), search.learned_vocabularies(), {"num_rows": 2})


def test_another_artifact_is_not_loaded(tmp_path: Path) -> None:
    SparseCodes().fit(np.eye(3, dtype=int)).save(tmp_path / "codes")
    (tmp_path / "codes" / "model.safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(ArtifactError):
        SparseCodes.load(tmp_path / "codes")


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[1, -1]], r"codes must hold whole numbers from 0 to 255, got -1 in row 0, column 1"),
        ([[0.0, 0.0], [np.nan, 0.0]], r"codes must hold whole numbers from 0 to 255, got nan in row 1, column 0"),
        ([[0.5]], r"codes must hold whole numbers from 0 to 255, got 0.5"),
        ([[256]], r"codes must hold whole numbers from 0 to 255, got 256"),
        ([["a"]], r"codes must be codes of shape \(rows, features\), got <U1 \(1, 1\)"),
        (np.zeros((2, 2, 2)), r"codes must be codes of shape \(rows, features\), got float64 \(2, 2, 2\)"),
        (np.zeros((0, 3)), r"codes must have at least one row, got shape \(0, 3\)"),
        (np.zeros((3, 0)), r"codes must have at least one column, got shape \(3, 0\)"),
        (sparse.csr_array([[1j]]), r"codes must hold 0 and 1 or counts, got complex128"),
    ],
)
def test_bad_codes(codes: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparseCodes().fit(codes)


def test_bad_arguments() -> None:
    search = SparseCodes().fit([[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="query must have 2 columns, as the codes have, got 3"):
        search.search([1, 0, 0], 1)
    with pytest.raises(ValueError, match="query must hold whole numbers from 0 to 255, got nan in row 0, column 1"):
        search.search([1, np.nan], 1)
    with pytest.raises(ValueError, match="k must be an integer >= 1, got 0"):
        search.search([1, 0], 0)
    with pytest.raises(ValueError, match=r"similarity must be one of 'shared', .*, got 'l2'"):
        search.search([1, 0], 1, similarity="l2")
    with pytest.raises(ValueError, match="similarity must be one of"):
        SparseCodes(similarity="l2").fit([[1]])
    with pytest.raises(ValueError, match="names must be as many as the 2 codes, got 1"):
        SparseCodes().fit([[1, 0], [0, 1]], names=["a"])
    with pytest.raises(ValueError, match="rows must be from 0 to 1, got 0 to 2"):
        search.rows([0, 2])
    with pytest.raises(ValueError, match="rows must be a list of integers, got float64"):
        search.rows([0.5])
    with pytest.raises(ValueError, match="names must have been given to fit"):
        search.named(["a"])
    with pytest.raises(NotFittedError, match="SparseCodes must be fitted before it is used"):
        SparseCodes().search([1], 1)
