from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gossamer.data import Sequences, Vocabulary
from gossamer.models.markov.emissions import EMISSIONS
from gossamer.models.markov.inputs import check_for_fit, read_batch

GAUSSIAN, CATEGORICAL = EMISSIONS["gaussian"], EMISSIONS["categorical"]


def test_sequences_and_a_matrix_with_lengths_are_the_same():
    values = np.arange(10.0).reshape(5, 2)
    batch = read_batch(values, GAUSSIAN, lengths=[2, 3])
    other = read_batch(Sequences(values, np.array([0, 2, 5])), GAUSSIAN)
    np.testing.assert_array_equal(batch.values, other.values)
    np.testing.assert_array_equal(batch.offsets, other.offsets)
    assert read_batch(values, GAUSSIAN).offsets.tolist() == [0, 5]
    assert read_batch([1.0, 2.0], GAUSSIAN).values.shape == (2, 1)


def test_events_are_found_by_their_names():
    model = Vocabulary(["ham", "eggs", "spam"])
    data = Sequences(np.array([0, 1]), np.array([0, 2]), vocabulary=Vocabulary(["spam", "ham"]))
    assert read_batch(data, CATEGORICAL, size=3, vocabulary=model).values.tolist() == [2, 0]
    stranger = Sequences(np.array([0]), np.array([0, 1]), vocabulary=Vocabulary(["beans", "ham"]))
    with pytest.raises(ValueError, match="only events that the model was fitted on, got the unseen event 'beans'"):
        read_batch(stranger, CATEGORICAL, size=3, vocabulary=model)


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ({"x": 1}, {}, "data must be Sequences, got dict"),
        (np.zeros((2, 2, 2)), {}, "data must be a matrix or vector of numbers, got float64"),
        (np.zeros((5, 1)), {"lengths": [2, 2]}, "lengths must add up to the 5 rows of data, got a sum of 4"),
        (np.zeros((5, 1)), {"lengths": [5, 0]}, r"lengths must be a list of integers >= 1, got \[5, 0\]"),
        (np.zeros((5, 1)), {"lengths": [2.5, 2.5]}, "lengths must be a list of integers"),
        (Sequences(np.zeros((2, 1)), np.array([0, 2])), {"lengths": [2]}, "lengths must be left out for Sequences"),
        (np.zeros((5, 1)), {"missing": np.zeros(4, dtype=bool)}, r"missing must be True or False for every step"),
        (np.zeros((5, 1)), {"missing": np.zeros(5)}, r"missing must be True or False .* got float64 \(5,\)"),
    ],
)
def test_bad_data_are_named(data: Any, more: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        read_batch(data, GAUSSIAN, **more)


@pytest.mark.parametrize(
    ("values", "lengths", "num_states", "tied", "message"),
    [
        ([0, 1, 2, 3], [3, 1], 2, True, "every series must have at least two steps, got 1 in series 1; leave it out"),
        ([0, np.nan, np.nan], [1, 2], 2, True, "at least two steps, got 1 in series 0"),
        (
            [0, 1, np.nan, np.nan],
            [2, 2],
            2,
            True,
            r"must have an observed step, got 2 missing ones \(NaN\) in series 1",
        ),
        ([0, 1, 2, 3], [2, 2], 5, True, "num_states must be at most the number of observed steps, 4, got 5"),
        ([0, 1, 2, 3], [2, 2], 3, False, "number of observed steps, 2, that one series has, got 3"),
    ],
)
def test_nothing_to_learn_from_is_named(
    values: list[float], lengths: list[int], num_states: int, tied: bool, message: str
):
    batch = read_batch(np.array(values, dtype=float), GAUSSIAN, lengths=lengths)
    with pytest.raises(ValueError, match=message):
        check_for_fit(batch, num_states, tied)


def test_no_series_is_named():
    with pytest.raises(ValueError, match="data must have at least one series, got none"):
        check_for_fit(read_batch(Sequences(np.zeros((0, 1)), np.array([0])), GAUSSIAN), 2, True)
