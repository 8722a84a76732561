from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts.documents import check_counts, read_documents, read_training

TERMS = Vocabulary(["ham", "eggs", "tea"])
DENSE = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])


class Model(BaseEstimator):
    """Something to remember columns in."""


@pytest.mark.parametrize(
    "data",
    [
        Counts(sparse.csr_array(DENSE), TERMS),
        sparse.csr_array(DENSE),
        sparse.csr_matrix(DENSE),
        sparse.coo_array(DENSE),
        DENSE,
        DENSE.astype(np.float64),
        DENSE.tolist(),
        pd.DataFrame(DENSE, columns=["ham", "eggs", "tea"]),
    ],
    ids=lambda data: type(data).__name__,
)
def test_counts_are_read_from_whatever_holds_them(data: Any):
    model = Model()
    matrix, terms = read_training(model, data)
    np.testing.assert_array_equal(matrix.toarray(), DENSE)
    assert matrix.dtype == np.float32
    assert model.n_features_in_ == 3
    named = isinstance(data, Counts | pd.DataFrame)
    assert terms == (TERMS if named else Vocabulary.numbered(3))
    np.testing.assert_array_equal(read_documents(model, data, terms).toarray(), DENSE)


def test_repeated_and_stored_zeros_are_tidied_without_touching_the_callers_matrix():
    messy = sparse.csr_array((np.array([1.0, 1.0, 0.0]), np.array([2, 2, 0]), np.array([0, 3])), shape=(1, 3))
    tidy = check_counts("data", messy)
    assert tidy.nnz == 1
    assert tidy.toarray().tolist() == [[0, 0, 2]]
    assert messy.nnz == 3


def test_terms_are_found_by_name():
    model = Model()
    _, terms = read_training(model, Counts(sparse.csr_array(DENSE), TERMS))
    turned = Counts(sparse.csr_array([[4, 1, 0]]), Vocabulary(["tea", "ham", "never counted"]))
    assert read_documents(model, turned, terms).toarray().tolist() == [[1, 0, 4]]


def test_unseen_terms_are_named():
    model = Model()
    _, terms = read_training(model, Counts(sparse.csr_array(DENSE), TERMS))
    strange = Counts(sparse.csr_array([[4, 1, 1, 1, 1]]), Vocabulary(["tea", "a", "b", "c", "d"]))
    with pytest.raises(
        ValueError, match=r"data must have terms of the training data, got 4 that were not there: 'a', 'b', 'c' …"
    ):
        read_documents(model, strange, terms)


def test_unknown_items_of_a_history_are_left_out():
    model = Model()
    _, terms = read_training(model, Counts(sparse.csr_array(DENSE), TERMS))
    history = Interactions.from_pairs(["ann", "ann"], ["eggs", "spam"])
    assert read_documents(model, history, terms).toarray().tolist() == [[0, 1, 0]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (DENSE - 1, r"data must hold counts >= 0, got -1.0 in row 0, column 1. Negative values in data"),
        (DENSE / 2, r"data must hold whole numbers, got 0.5 in row 0, column 2"),
        (
            np.where(DENSE == 3, np.nan, DENSE),
            r"data must hold finite counts, .*, got nan in row 2, column 1",
        ),
        (
            np.where(DENSE == 3, np.inf, DENSE),
            r"data must hold finite counts, .*, got inf in row 2, column 1",
        ),
        (sparse.csr_array(DENSE / 2), r"data must hold whole numbers, got 0.5 in row 0, column 2"),
        (Counts(sparse.csr_array(DENSE / 2), TERMS), r"data must hold whole numbers, got 0.5 in row 0, column 2"),
        (0 * DENSE, r"data must have at least one count above 0, got 3 empty documents"),
        (DENSE[0], r"Expected 2D array, got 1D array instead"),
        ("ham and eggs", r"data must be Counts, got str; a sparse matrix, an array or a table of counts will do, too"),
        (None, r"data must be Counts, got NoneType"),
        (Interactions.from_pairs([1], [1]), r"data must be Counts, got Interactions"),
    ],
)
def test_what_is_no_count_is_refused_with_its_place(data: Any, message: str):
    with pytest.raises(ValueError, match=message):
        read_training(Model(), data)


def test_a_matrix_with_other_columns_is_refused():
    model = Model()
    _, terms = read_training(model, DENSE)
    with pytest.raises(ValueError, match=r"X has 2 features, but Model is expecting 3 features as input"):
        read_documents(model, DENSE[:, :2], terms)


def test_documents_may_be_empty_and_few():
    model = Model()
    _, terms = read_training(model, Counts(sparse.csr_array(DENSE), TERMS))
    assert read_documents(model, Counts(sparse.csr_array((0, 3)), TERMS), terms).shape == (0, 3)
    assert read_documents(model, np.zeros((2, 3)), terms).nnz == 0
