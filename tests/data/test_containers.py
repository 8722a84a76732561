"""Counts, Sentences, Sequences and LabelledArrays: what they promise in common, and their own sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from gossamer.data import Counts, LabelledArrays, Sentences, Sequences, Vocabulary
from gossamer.data.content import ragged_take, row_numbers

WORDS = Vocabulary(["ham", "eggs", "spam"])


def counts() -> Counts:
    return Counts(
        sparse.csr_array([[2, 0, 1], [0, 0, 0], [0, 4, 0]]), WORDS, Vocabulary(["a", "b", "c"]), [0, 1, 0], ("x", "y")
    )


def sentences() -> Sentences:
    return Sentences(np.array([0, 1, 2, 2]), np.array([0, 3, 3, 4]), WORDS, np.array([0, 1, 0]), ("x", "y"))


def sequences() -> Sequences:
    vectors = np.arange(8).reshape(4, 2)
    return Sequences(vectors, np.array([0, 3, 3, 4]), features=np.eye(3), states=np.array([0, 1, 1, 0]))


def arrays() -> LabelledArrays:
    return LabelledArrays(np.arange(12).reshape(3, 2, 2), np.array([1, 0, 1]), target_names=("x", "y"))


@pytest.mark.parametrize("make", [counts, sentences, sequences, arrays])
def test_common_promises(make):
    data = make()
    assert len(data) == 3
    assert len(data[1:]) == 2
    assert len(data[[2]]) == 1
    assert len(data[[True, False, True]]) == 2
    assert data.fingerprint() == make().fingerprint() == data[:].fingerprint() != data[[0, 2]].fingerprint()
    assert all(isinstance(key, str) for key in data.describe())
    assert type(data).__name__ in repr(data)
    with pytest.raises(ValueError, match=r"rows must lie in 0 … 2, got 3"):
        data[[3]]
    with pytest.raises(ValueError, match="rows must be a mask of length 3"):
        data[np.array([True])]
    with pytest.raises(ValueError, match="rows must be a slice, a mask or a list of integers"):
        data[np.array([0.5])]
    assert len(data[[]]) == 0


def test_slices_hold_the_right_rows():
    assert counts()[[2, 0]].matrix.toarray().tolist() == [[0, 4, 0], [2, 0, 1]]
    assert sentences()[[2, 0]].words(1) == ["ham", "eggs", "spam"]
    part = sequences()[[2, 0]]
    assert part.observations.tolist() == [[6, 7], [0, 1], [2, 3], [4, 5]]
    assert part.states.tolist() == [0, 0, 1, 1]
    assert part.features.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert arrays()[[2]].inputs.tolist() == [[[8, 9], [10, 11]]]


@given(st.lists(st.integers(0, 6), max_size=20), st.data())
def test_ragged_take_equals_a_loop(lengths, data):
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    if not lengths:
        return
    rows = np.array(data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=10)), dtype=np.int64)
    taken, positions = ragged_take(offsets, rows)
    expected = [list(range(offsets[row], offsets[row + 1])) for row in rows]
    assert [positions[taken[k] : taken[k + 1]].tolist() for k in range(len(rows))] == expected


def test_row_numbers_of_every_kind():
    assert row_numbers(slice(None, None, -1), 3).tolist() == [2, 1, 0]
    assert row_numbers([-1, 0], 3).tolist() == [2, 0]
    with pytest.raises(ValueError, match="rows must lie in 0 … 2, got -4"):
        row_numbers([-4], 3)


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        ([[1, -2, 0]], "matrix must hold finite counts >= 0, got -2.0 in document 0, term 'eggs'"),
        ([[0, 0, 0], [0, np.nan, 0]], "matrix must hold finite counts >= 0, got nan in document 1, term 'eggs'"),
        ([[1, 2]], r"matrix must have one column per term \(3\), got 2"),
    ],
)
def test_bad_counts(matrix, text):
    with pytest.raises(ValueError, match=text):
        Counts(sparse.csr_array(np.array(matrix)), WORDS)


def test_counts_merge_repeated_entries_without_touching_the_callers_matrix():
    mine = sparse.csr_array((np.ones(2, dtype=np.float32), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    assert Counts(mine, WORDS).matrix.toarray().tolist() == [[0, 2, 0]]
    assert mine.nnz == 2
    assert mine.data.flags.writeable


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: Counts(sparse.csr_array((2, 3)), WORDS, Vocabulary(["a"])), "documents must be 2 ids, got 1"),
        (lambda: Counts(sparse.csr_array((2, 3)), WORDS, labels=[0]), "labels must be 2 integers"),
        (
            lambda: Counts(sparse.csr_array((2, 3)), WORDS, labels=[0, 2], label_names=("x", "y")),
            "labels must lie in 0 … 1, got 2",
        ),
        (lambda: Sentences(np.array([3]), np.array([0, 1]), WORDS), "tokens must lie in 0 … 2, got 3"),
        (lambda: Sentences(np.array([0.5]), np.array([0, 1]), WORDS), "tokens must be a vector of integers"),
        (lambda: Sentences(np.array([0]), np.array([0, 2]), WORDS), "offsets must start at 0, never fall and end at 1"),
        (lambda: Sequences(np.array([3]), np.array([0, 1]), vocabulary=WORDS), "observations must be event numbers"),
        (lambda: Sequences(np.array([[np.inf]]), np.array([0, 1])), "observations must be finite or NaN"),
        (lambda: Sequences(np.array([0.5]), np.array([0, 1])), "observations must be a vector of event numbers or"),
        (lambda: Sequences(np.zeros((1, 1)), np.array([0, 1]), features=np.zeros((2, 1))), "features must be a finite"),
        (lambda: Sequences(np.zeros((1, 1)), np.array([0, 1]), states=np.array([-1])), "states must be 1 integers"),
        (lambda: Sequences(np.zeros((1, 1)), np.array([0, 1]), names=WORDS), "names must be 1 ids, got 3"),
        (lambda: LabelledArrays(np.array([[1.0], [np.nan]])), "inputs must be finite, got NaN or infinity in row 1"),
        (lambda: LabelledArrays(np.array(["a"])), "inputs must be a numeric array"),
        (lambda: LabelledArrays(np.zeros(2), np.zeros(3)), "targets must have 2 rows, got 3"),
    ],
)
def test_bad_fields_get_one_sentence(build, text):
    with pytest.raises(ValueError, match=text):
        build()


def test_missing_observations_are_allowed():
    data = Sequences(np.array([[np.nan, 1.0]]), np.array([0, 1]))
    assert data.describe()["missing"] == 1


def test_counts_are_matched_by_the_names_of_their_terms() -> None:
    data = Counts(sparse.csr_array([[2, 0, 1], [0, 3, 0]]), Vocabulary(["ham", "eggs", "tea"]), Vocabulary(["a", "b"]))
    assert data.aligned_to(data.terms) is data
    other = data.aligned_to(Vocabulary(["tea", "jam", "ham"]))
    assert other.matrix.toarray().tolist() == [[1, 0, 2], [0, 0, 0]]
    assert other.matrix.has_canonical_format
    assert other.documents == data.documents
