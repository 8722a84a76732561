"""What the report is told of codes, from any model that gives some."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.data import Counts, LabelledArrays, Vocabulary
from gossamer.report.codes import codes_section
from gossamer.runner.code_findings import NUM_OBSERVATIONS, NUM_RECONSTRUCTED, find_codes, has_codes


class Doubling:
    """A stand-in: feature j is on where column j is above 0, and decodes to 0.9 in that column."""

    max_active = 3

    def transform(self, data):
        values = data.matrix.toarray() if isinstance(data, Counts) else data.inputs.reshape(len(data), -1)
        return sparse.csr_array((values > 0).astype(np.float32))

    def inverse_transform(self, codes):
        raised = 0.1 + 0.8 * codes.toarray()
        return raised / raised.sum(axis=1, keepdims=True) if codes.shape[1] == 5 else raised


class Dense(Doubling):
    def transform(self, data):
        return super().transform(data).toarray()


def documents(labels=None) -> Counts:
    matrix = sparse.csr_array(np.array([[2, 0, 1, 0, 0], [0, 1, 0, 0, 0], [3, 0, 0, 0, 0]]))
    return Counts(matrix, Vocabulary(list("abcde")), labels=labels, label_names=None if labels is None else ["x", "y"])


def test_documents_are_told_by_terms():
    found = find_codes(Doubling(), documents(np.array([0, 1, 0])))
    assert found["limit"] == 3
    assert found["features"].tolist() == [0, 1, 2]  # in 2 documents, then 1 and 1
    assert found["prototype_terms"] == [["a"], ["b"], ["c"]]
    assert found["document_terms"] == [["a", "c"], ["b"], ["a"]]
    assert found["rebuilt_terms"] == [["a", "c"], ["b"], ["a"]]
    assert found["labels"].tolist() == [0, 1, 0]
    assert found["label_names"] == ["x", "y"]
    assert codes_section({"m": found}) is not None


def test_pictures_keep_their_shape():
    inputs = (np.random.default_rng(0).random((20, 3, 3)) < 0.3).astype(np.float32)
    found = find_codes(Doubling(), LabelledArrays(inputs, np.arange(20) % 2))
    assert found["observed"].shape == (NUM_RECONSTRUCTED, 3, 3)
    assert found["rebuilt"].shape == (NUM_RECONSTRUCTED, 3, 3)
    assert found["prototypes"][0].argmax() == found["features"][0]
    assert codes_section({"m": found}) is not None


def test_many_rows_are_thinned_and_many_labels_left_out():
    inputs = np.eye(4, dtype=np.float32)[np.arange(3 * NUM_OBSERVATIONS) % 4]
    found = find_codes(Doubling(), LabelledArrays(inputs, np.zeros((len(inputs), 2), dtype=np.int64)))
    assert found["codes"].shape[0] == NUM_OBSERVATIONS
    assert found["labels"] is None


def test_models_without_sparse_codes_have_nothing_to_tell():
    assert has_codes(Doubling())
    assert not has_codes(object())
    assert find_codes(Dense(), documents()) == {}
    assert find_codes(Doubling(), documents()[:0]) == {}


def test_codes_that_are_all_empty_are_shown():
    found = find_codes(Doubling(), LabelledArrays(np.zeros((3, 4), dtype=np.float32)))
    assert len(found["features"]) == 0
    assert codes_section({"m": found}) is not None
