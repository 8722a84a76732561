"""Labels are switched on by thresholds, at most so many, and thresholds are the best of the grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gossamer.models.discrete.label_thresholds import GRID, choose_thresholds, macro_f1, micro_f1, switch_on

PROBS = arrays(np.float64, (5, 4), elements=st.floats(0, 1))


@given(PROBS, arrays(np.float64, (4,), elements=st.floats(0, 1)), st.integers(1, 4))
def test_never_more_labels_than_allowed_and_none_below_its_threshold(
    probs: np.ndarray, thresholds: np.ndarray, max_active: int
) -> None:
    is_on = switch_on(probs, thresholds, max_active)
    assert (is_on.sum(axis=1) <= max_active).all()
    assert (probs > thresholds)[is_on].all()
    unlimited = switch_on(probs, thresholds, 4)
    np.testing.assert_array_equal(unlimited, probs > thresholds)
    np.testing.assert_array_equal(is_on.sum(axis=1), np.minimum(unlimited.sum(axis=1), max_active))


@given(PROBS, arrays(np.int64, (5, 4), elements=st.integers(0, 1)))
def test_one_threshold_is_the_best_of_the_grid(probs: np.ndarray, labels: np.ndarray) -> None:
    for name, score in (("micro_f1", micro_f1), ("macro_f1", macro_f1)):
        thresholds, value = choose_thresholds(probs, labels, 4, how="cv", objective=name)
        assert value == max(score(probs > level, labels) for level in GRID)
        assert len(set(thresholds)) == 1


@given(PROBS, arrays(np.int64, (5, 4), elements=st.integers(0, 1)))
def test_thresholds_per_label_are_never_worse_for_macro_f1(probs: np.ndarray, labels: np.ndarray) -> None:
    _, one = choose_thresholds(probs, labels, 4, how="cv", objective="macro_f1")
    _, each = choose_thresholds(probs, labels, 4, how="cv-per-label", objective="macro_f1")
    assert each >= one - 1e-12


def test_a_number_is_taken_as_it_is() -> None:
    thresholds, value = choose_thresholds(np.array([[0.4, 0.9]]), np.array([[0, 1]]), 2, how=0.5, objective="mean_f1")
    assert thresholds.tolist() == [0.5, 0.5]
    assert value == pytest.approx((1 + 0.5) / 2)
