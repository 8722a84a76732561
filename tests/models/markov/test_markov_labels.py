from __future__ import annotations

import numpy as np

from gossamer.models.markov.labels import label_accuracy, match_labels, matched_accuracy


def test_matching_undoes_a_permutation():
    true = np.array([0, 0, 1, 2, 2, 2])
    found = np.array([2, 1, 0])[true]
    assert label_accuracy(found, true) == 1 / 6
    assert matched_accuracy(found, true) == 1.0


def test_more_states_than_labels_are_matched_one_to_one():
    matching = match_labels(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 0]))
    assert matching[0] == 0
    assert sorted(matching.values()) == [0, 1, 2]
    assert matched_accuracy(np.array([0, 0, 1, 2]), np.zeros(4, dtype=np.int64)) == 0.5
