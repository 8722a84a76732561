"""ML-kNN against an example computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.discrete.label_knn import MLkNN, nearest_rows, neighbour_tables, posterior_probs


def test_neighbours_are_the_nearest_and_not_oneself() -> None:
    rows = np.array([[0.0], [1.0], [3.0], [7.0]])
    assert nearest_rows(rows, rows, 1, skip_self=True).tolist() == [[1], [0], [1], [2]]
    assert nearest_rows(np.array([[6.0]]), rows, 2).tolist() == [[3, 2]]


def test_an_example_by_hand() -> None:
    # One label, k = 1. Nearest neighbours: 0→1, 1→0, 2→1, 3→2; the label is on in rows 0 and 1.
    labels = np.array([[1], [1], [0], [0]])
    counts = np.array([[1], [1], [1], [0]])
    prior, tables = neighbour_tables(counts, labels, 1, 1.0)
    assert prior.tolist() == [(1 + 2) / (2 + 4)]
    # off: one row has a neighbour with it and one has none, (1+1)/4 each; on: both have one, (1+0)/4 and (1+2)/4.
    np.testing.assert_allclose(tables[:, 0], [[0.5, 0.5], [0.25, 0.75]])
    probs = posterior_probs(np.array([[0], [1]]), prior, tables)
    np.testing.assert_allclose(probs[:, 0], [0.125 / (0.125 + 0.25), 0.375 / (0.375 + 0.25)])


def test_the_estimator_does_the_same() -> None:
    rows = np.array([[0.0], [1.0], [3.0], [7.0]])
    labels = np.array([[1], [1], [0], [0]])
    model = MLkNN(num_neighbours=1).fit(rows, labels)
    np.testing.assert_allclose(model.predict_proba(np.array([[0.4], [6.0]]))[:, 0], [0.6, 1 / 3])
    assert model.predict(np.array([[0.4], [6.0]])).tolist() == [[1], [0]]


def test_few_rows_have_few_neighbours() -> None:
    model = MLkNN(num_neighbours=10, threshold="cv", num_folds=2).fit([[0.0], [1.0], [5.0]], [[1], [1], [0]])
    assert model.predict_proba([[0.2]]).shape == (1, 1)
    with pytest.raises(ValueError, match="num_neighbours must be an integer >= 1, got 0"):
        MLkNN(num_neighbours=0).fit([[0.0], [1.0]], [[1], [0]])
