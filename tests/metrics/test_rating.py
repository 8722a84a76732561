"""Rating errors against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, mean_squared_error

from gossamer.metrics.rating import absolute_error, mae, mse, squared_error


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1))
def test_errors_equal_scikit_learn(pairs):
    prediction, truth = np.array(pairs).T
    assert mse(prediction, truth) == pytest.approx(mean_squared_error(truth, prediction))
    assert mae(prediction, truth) == pytest.approx(mean_absolute_error(truth, prediction))


def test_one_value_per_interaction_in_double_precision():
    prediction, truth = np.array([3.5, 1.0], dtype=np.float32), np.array([3, 3])
    np.testing.assert_array_equal(squared_error(prediction, truth), [0.25, 4])
    np.testing.assert_array_equal(absolute_error(prediction, truth), [0.5, 2])
    assert squared_error(prediction, truth).dtype == np.float64


def test_a_mean_of_many_single_precision_errors_keeps_its_digits():
    truth = np.zeros(2_000_000, dtype=np.float32)
    assert mse(np.full_like(truth, 0.1), truth) == pytest.approx(float(np.float32(0.1)) ** 2, rel=1e-12)


@pytest.mark.parametrize(
    ("prediction", "truth", "message"),
    [
        (np.zeros(2), np.zeros(3), r"as long as truth, got \(2,\) and \(3,\)"),
        (np.zeros((2, 1)), np.zeros((2, 1)), "one-dimensional"),
        (np.array([np.nan]), np.zeros(1), "prediction must be finite, got nan"),
        (np.zeros(1), np.array([np.inf]), "truth must be finite, got inf"),
        (np.zeros(0), np.zeros(0), "at least one value, got 0"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_mistakes_are_answered_with_a_sentence(prediction, truth, message):
    for metric in (mse, mae):
        with pytest.raises(ValueError, match=message):
            metric(prediction, truth)
