"""What all models of labels share: bad data is named, scores are those of the metrics, names are in the artifact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer.data.arrays import LabelledArrays
from gossamer.metrics.labels import macro_scores, micro_scores
from gossamer.models.discrete import LinearLabelClassifier, MLkNN, SparseLabelClassifier
from gossamer.models.discrete.label_model import LabelModel
from gossamer.testing.right_answers import lit_lamps

MODELS = [SparseLabelClassifier(max_active=1), LinearLabelClassifier(), MLkNN()]


@pytest.mark.parametrize(
    ("inputs", "labels", "message"),
    [
        ([[0.0], [1.0]], [[2, 0], [0, 1]], "y must hold only 0 and 1, got 2 in row 0, column 0"),
        ([[0.0], [1.0]], [[0.5, 0], [0, 1]], "y must hold only 0 and 1, got 0.5 in row 0, column 0"),
        ([[0.0], [1.0]], [["a"], ["b"]], "y must hold only 0 and 1, got values of type <U1"),
        ([[0.0], [1.0]], [0, 1], r"y must be a table of 0 and 1 with a column per label, got shape \(2,\)"),
        ([[0.0], [1.0]], [[0, 1]], "y must have one row of labels for each of 2 rows of data, got 1"),
        ([[0.0], [np.nan]], [[0], [1]], "data must hold finite values, got NaN in row 1, column 0"),
        ([[0.0], [np.inf]], [[0], [1]], "data must hold finite values, got inf in row 1, column 0"),
        ([[0.0]], [[1, 1]], "data must have at least 2 rows, got n_samples = 1"),
    ],
)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_bad_data_is_named(model: LabelModel, inputs: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(inputs, labels)


def test_measures_are_those_of_the_metrics() -> None:
    parts = lit_lamps()
    model = MLkNN(num_neighbours=5).fit(parts.train)
    predicted, measured = model.predict(parts.test), model.evaluate(parts.test)
    assert measured["micro_f1"] == micro_scores(predicted, parts.test.targets).f1
    assert measured["macro_f1"] == macro_scores(predicted, parts.test.targets).f1
    assert measured["mean_active"] == predicted.sum() / len(parts.test)
    with pytest.raises(ValueError, match="data must be LabelledArrays with labels, got LabelledArrays"):
        model.evaluate(LabelledArrays(parts.test.inputs))


def test_a_label_that_is_nowhere_counts_as_nothing_or_as_one() -> None:
    inputs, labels = np.array([[0.0], [1.0], [0.1], [0.9]]), np.array([[1, 0], [0, 0], [1, 0], [0, 0]])
    measured = MLkNN(num_neighbours=1).fit(inputs, labels).evaluate(LabelledArrays(inputs, labels))
    assert (measured["macro_f1"], measured["macro_f1_absent_as_1"]) == (0.5, 1.0)


def test_names_of_labels_travel_with_the_artifact(tmp_path: Path) -> None:
    MLkNN().fit(lit_lamps().train).save(tmp_path / "model")
    loaded = MLkNN.load(tmp_path / "model")
    assert list(loaded.labels_) == ["a", "b", "c", "d"]
    assert loaded.n_features_in_ == 5
