"""SparseCountRegressor: exact likelihood, whole counts within the limit, images of any layout, bad input named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.model_selection import cross_val_score

from gossamer.data.arrays import LabelledArrays
from gossamer.models.discrete.count_regressor import SparseCountRegressor
from gossamer.testing.right_answers import burning_candles

SMALL: dict[str, Any] = {"hidden_dims": [16], "epochs": 100, "batch_size": 12, "learning_rate": 0.02}
QUICK: dict[str, Any] = {**SMALL, "epochs": 1}


def test_marks_are_counted_wherever_they_are() -> None:
    """Crosses and squares at random places: no column, no grid."""
    generator = np.random.default_rng(0)
    shapes = [np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]), np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])]
    images, counts = np.zeros((300, 10, 16), dtype=np.uint8), np.zeros((300, 2), dtype=np.int64)
    for image, count in zip(images, counts, strict=True):
        for place in generator.permutation(8)[: generator.integers(0, 4)]:
            top, left, kind = 1 + 5 * (place // 4), 4 * (place % 4), generator.integers(2)
            image[top : top + 3, left : left + 3] = 255 * shapes[kind]
            count[kind] += 1
    data = LabelledArrays(images, counts)
    model = SparseCountRegressor(encoder="conv", channels=[8, 16], epochs=12, batch_size=20, learning_rate=0.02)
    measured = model.fit(data[:250], data[:50]).evaluate(data[250:])
    assert measured["mse"] < 0.3 * counts.var()


MODEL = SparseCountRegressor(**QUICK).fit(burning_candles().train)


@settings(max_examples=30)
@given(arrays(np.float64, (3, 4), elements=st.floats(-1e3, 1e3)))
def test_whole_counts_never_exceed_the_limit(rows: np.ndarray) -> None:
    whole = MODEL.predict_counts(rows)
    assert (whole >= 0).all()
    assert (whole.sum(axis=1) <= MODEL.max_active_).all()
    assert (MODEL.predict(rows).sum(axis=1) <= MODEL.max_active_ + 1e-5).all()


def test_it_works_in_cross_validation() -> None:
    data = burning_candles().train
    scores = cross_val_score(SparseCountRegressor(**SMALL), data.inputs, data.targets, cv=2, scoring="r2")
    assert scores.min() > 0.8


def test_training_goes_on_from_its_checkpoint(tmp_path: Any) -> None:
    data = burning_candles().train
    whole = SparseCountRegressor(**{**SMALL, "epochs": 4}).fit(data)
    again = SparseCountRegressor(**{**SMALL, "epochs": 4}).fit(data, checkpoint=tmp_path / "state")
    np.testing.assert_array_equal(whole.predict(data), again.predict(data))
    resumed = SparseCountRegressor(**{**SMALL, "epochs": 4}).fit(data, checkpoint=tmp_path / "state")
    np.testing.assert_array_equal(whole.predict(data), resumed.predict(data))


@pytest.mark.parametrize(
    ("inputs", "counts", "message"),
    [
        ([[0.0], [1.0]], [[1], [-1]], "y must hold whole numbers >= 0, got -1 in row 1, column 0"),
        ([[0.0], [1.0]], [[1], [0.5]], "y must hold whole numbers >= 0, got 0.5 in row 1, column 0"),
        ([[0.0], [1.0]], [1, 2], r"y must be a table of counts with a column per class, got shape \(2,\)"),
        ([[0.0], [np.nan]], [[1], [2]], "data must hold finite values, got NaN in row 1, column 0"),
        ([[0.0], [1.0]], [[1]], "y must have one row of counts for each of 2 rows of data, got 1"),
    ],
)
def test_bad_data_is_named(inputs: Any, counts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparseCountRegressor(**QUICK).fit(inputs, counts)


def test_bad_settings_are_named() -> None:
    data = burning_candles().train
    with pytest.raises(ValueError, match="max_active must be at least 4, the greatest total, got 2"):
        SparseCountRegressor(max_active=2, **QUICK).fit(data)
    with pytest.raises(ValueError, match=r"data must be images of shape \(N, height, width\) for encoder='conv'"):
        SparseCountRegressor(encoder="conv", **QUICK).fit(data)


@pytest.mark.parametrize("num_rows", [1, 2, 3, 60])
def test_a_few_updates_are_enough_to_train(num_rows: int) -> None:
    inputs = np.arange(3 * num_rows, dtype=float).reshape(num_rows, 3)
    counts = np.ones((num_rows, 2), dtype=int)
    assert np.isfinite(SparseCountRegressor(epochs=1, hidden_dims=(4,)).fit(inputs, counts).predict(inputs)).all()
