"""Next categories without phases."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data import Sequences, Vocabulary
from gossamer.runner.category_peers import FeatureCategory, MostFrequentCategory, strengths_of

EVENTS = Sequences(
    np.array([0, 0, 0, 1, -1, 1]),
    np.array([0, 3, 6]),
    features=np.array([[1.0], [-1.0]]),
    vocabulary=Vocabulary(["a", "b", "c", "d", "e", "f"]),
)


def test_own_and_common_frequencies():
    assert MostFrequentCategory().fit(EVENTS).evaluate(EVENTS)["top1"] == 1.0
    assert MostFrequentCategory(weight=1e9).fit(EVENTS).evaluate(EVENTS)["top1"] == 0.5


def test_features_alone():
    assert FeatureCategory(penalty=0.01).fit(EVENTS).evaluate(EVENTS) == {"top1": 1.0, "top3": 1.0, "top5": 1.0}
    bare = Sequences(EVENTS.observations, EVENTS.offsets, vocabulary=EVENTS.vocabulary)
    with pytest.raises(ValueError, match="data must have features per series, got none"):
        FeatureCategory().fit(bare)


def test_strengths_of_events_and_of_strengths():
    assert strengths_of(EVENTS).sum(axis=1).tolist() == [1, 1, 1, 1, 0, 1]
    shares = Sequences(np.array([[0.5, np.nan]]), np.array([0, 1]))
    assert strengths_of(shares).tolist() == [[0.5, 0.0]]
