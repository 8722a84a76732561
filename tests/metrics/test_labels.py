"""Multi-label scores against scikit-learn."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score, precision_score, recall_score

from gossamer.metrics.labels import LabelScores, macro_scores, micro_scores, per_example_scores


@st.composite
def predicted_and_truth(draw):
    shape = (draw(st.integers(1, 6)), draw(st.integers(2, 5)))
    dtype = draw(st.sampled_from([np.bool_, np.int64, np.uint8]))
    elements = st.booleans() if dtype == np.bool_ else st.integers(0, 1)
    return draw(arrays(dtype, shape, elements=elements)), draw(arrays(dtype, shape, elements=elements))


@given(predicted_and_truth(), st.sampled_from([0.0, 1.0]))
def test_scores_equal_scikit_learn(example, zero_division):
    predicted, truth = example
    per_example = per_example_scores(predicted, truth, zero_division=zero_division)
    ours = {
        "micro": micro_scores(predicted, truth, zero_division=zero_division),
        "macro": macro_scores(predicted, truth, zero_division=zero_division),
        "samples": LabelScores(*(values.mean() for values in astuple(per_example))),
    }
    for average, found in ours.items():
        expected = [
            score(truth, predicted, average=average, zero_division=zero_division)
            for score in (precision_score, recall_score, f1_score)
        ]
        np.testing.assert_allclose(astuple(found), expected, err_msg=average)


def test_scores_by_hand():
    predicted, truth = np.array([[1, 1, 0], [0, 0, 0]]), np.array([[1, 0, 0], [0, 1, 0]])
    assert micro_scores(predicted, truth) == LabelScores(0.5, 0.5, 0.5)
    assert astuple(macro_scores(predicted, truth)) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    np.testing.assert_allclose(per_example_scores(predicted, truth).f1, [2 / 3, 0])


@pytest.mark.parametrize("scores", [micro_scores, macro_scores, per_example_scores])
@pytest.mark.parametrize(
    ("predicted", "truth", "zero_division", "message"),
    [
        (np.zeros((2, 3), int), np.zeros((3, 2), int), 0.0, r"\(N, L\) of truth, got \(2, 3\) and \(3, 2\)"),
        (np.full((1, 2), 2), np.zeros((1, 2), int), 0.0, "predicted must hold only 0 and 1, got 2"),
        (np.zeros((1, 2), int), np.full((1, 2), -1), 0.0, "truth must hold only 0 and 1, got -1"),
        (np.zeros((1, 2), int), np.full((1, 2), np.nan), 0.0, "truth must hold only 0 and 1, got nan"),
        (np.zeros((1, 2), int), np.zeros((1, 2), int), 2.0, "zero_division must be a finite number >= 0 and <= 1"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_mistakes_are_answered_with_a_sentence(scores, predicted, truth, zero_division, message):
    with pytest.raises(ValueError, match=message):
        scores(predicted, truth, zero_division=zero_division)


def test_macro_needs_a_label():
    with pytest.raises(ValueError, match="predicted must have at least one label, got 0"):
        macro_scores(np.zeros((2, 0), dtype=int), np.zeros((2, 0), dtype=int))
