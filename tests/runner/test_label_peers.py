"""scikit-learn's classifiers of labels and forests of counts, judged as ours are."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.arrays import LabelledArrays
from gossamer.runner import peers
from gossamer.runner.tasks import container_of
from gossamer.testing.right_answers import burning_candles, lit_lamps

SETTINGS = {"sklearn-chains": {"C": 1.0, "num_chains": 2}, "sklearn-label-forest": {"n_estimators": 20}}


@pytest.mark.parametrize("name", SETTINGS)
def test_planted_labels_are_found_and_a_label_nobody_has_does_no_harm(name: str) -> None:
    parts = lit_lamps()
    assert container_of(peers.find(name)) is LabelledArrays
    model = peers.find(name)(**SETTINGS[name]).fit(parts.train)
    measured = model.evaluate(parts.test)
    assert measured["micro_f1"] > 0.85
    empty = LabelledArrays(parts.train.inputs, np.hstack([parts.train.targets, np.zeros((len(parts.train), 1), int)]))
    more = peers.find(name)(**SETTINGS[name]).fit(empty).evaluate(empty)
    assert more["macro_f1"] <= 4 / 5
    assert more["macro_f1_absent_as_1"] > more["macro_f1"]


def test_counts_are_found_by_a_forest() -> None:
    parts = burning_candles()
    measured = (
        peers.find("sklearn-count-forest")(n_estimators=30, max_features=1.0).fit(parts.train).evaluate(parts.test)
    )
    assert measured["mse"] < 0.5 * parts.train.targets.var()
    assert 0 <= measured["exact"] <= 1
