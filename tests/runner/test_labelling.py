"""Labels, classes and counts as rows."""

from __future__ import annotations

import numpy as np

from gossamer.data import LabelledArrays, Vocabulary
from gossamer.models.discrete import SparseDiscreteVAE, SparseLabelClassifier
from gossamer.models.linear import EASE
from gossamer.runner.labelling import gives_labels, labels_of

DATA = LabelledArrays(np.zeros((2, 3), dtype=np.float32))


class Labels:
    def learned_vocabularies(self):
        return {"labels": Vocabulary(["sad", "gay"])}

    def predict(self, data):
        return np.array([[1, 1], [0, 0]])

    def predict_proba(self, data):
        return np.array([[0.9, 0.8], [0.1, 0.2]])


class Classes(Labels):
    def predict(self, data):
        return np.array([0, 1])


class Counts:
    learned_vocabularies = Labels.learned_vocabularies

    def predict(self, data):
        return np.array([[1.7, 0.1], [0.0, 1.0]])

    def predict_counts(self, data):
        return np.array([[2, 0], [0, 1]])


def test_labels_are_named_beside_their_probabilities():
    rows = labels_of(Labels(), DATA).to_dicts()
    assert rows[0] == {"row": 1, "labels": "sad, gay", "sad": 0.9, "gay": 0.8}
    assert rows[1]["labels"] == ""


def test_a_class_is_named():
    assert labels_of(Classes(), DATA)["class"].to_list() == ["sad", "gay"]


def test_counts_are_whole_in_words_and_expected_in_columns():
    rows = labels_of(Counts(), DATA).to_dicts()
    assert rows[0] == {"row": 1, "counts": "2 × sad", "sad": 1.7, "gay": 0.1}


def test_who_gives_labels():
    assert gives_labels(SparseLabelClassifier())
    assert not gives_labels(SparseDiscreteVAE())
    assert not gives_labels(EASE())
