"""The estimator; what all estimators keep to is in tests/test_contracts.py."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from gossamer.data import LabelledArrays
from gossamer.models.lowrank import CompressedClassifier
from gossamer.testing.right_answers import two_patterns

SMALL = {"hidden_dims": [16], "epochs": 10, "batch_size": 16, "search_rows": 16}


def test_without_a_budget_the_network_stays_whole():
    parts = two_patterns()
    model = CompressedClassifier(**SMALL).fit(parts.train)
    assert model.report_ is None
    measured = model.evaluate(parts.test)
    assert measured["accuracy"] == 1.0
    assert measured["macs_share"] == 1.0
    assert measured["milliseconds"] > 0
    assert model.explain() == {"layers": [{"layer": "model", "rank": "whole"}]}


def test_budgets_are_met_and_sizes_told():
    parts = two_patterns()
    model = CompressedClassifier(params=0.7, allocator="uniform", **SMALL).fit(parts.train)
    whole = CompressedClassifier(**SMALL).fit(parts.train)
    assert model.num_values() <= 0.7 * whole.num_values()
    assert model.num_bytes() < whole.num_bytes()
    assert model.evaluate(parts.test)["params_share"] <= 0.7
    assert model.explain(n=1)["layers"][0]["layer"] == "1"


def test_as_many_inputs_are_timed_as_are_asked_for(monkeypatch):
    timed = []

    def time_models(models, batch, repeats=5):
        timed.append(len(batch[0][0]))
        return [1.0] * len(models)

    for module in ("attempts", "compressed_network"):
        monkeypatch.setattr(f"gossamer.models.lowrank.{module}.time_models", time_models)
    parts = two_patterns()
    CompressedClassifier(timed_rows=1, **SMALL).fit(parts.train)
    CompressedClassifier(timed_rows=1, params=0.7, allocator="uniform", **SMALL).fit(parts.train)
    CompressedClassifier(params=0.7, allocator="uniform", **SMALL).fit(parts.train)
    assert timed == [1, 1, 16]
    with pytest.raises(ValueError, match="timed_rows must be an integer >= 1, got 0"):
        CompressedClassifier(timed_rows=0).fit(parts.train)


def test_fine_tuning_by_answers_does_not_look_at_classes():
    parts = two_patterns()
    whole = CompressedClassifier(**SMALL).fit(parts.train)
    wrong = LabelledArrays(parts.train.inputs, 1 - parts.train.targets, target_names=parts.train.target_names)
    settings = {"params": 0.7, "allocator": "uniform", "fine_tune_epochs": 20, "fine_tune_rate": 0.1}

    def tuned(data, guide):
        return copy.deepcopy(whole).set_params(**settings, guide=guide).compress(data).evaluate(parts.test)["accuracy"]

    assert tuned(wrong, "answers") == tuned(parts.train, "answers") == 1.0
    assert tuned(wrong, "loss") < 0.5


def test_fine_tuning_by_answers_comes_nearer_to_the_whole_network():
    parts = two_patterns()
    whole = CompressedClassifier(**SMALL).fit(parts.train)

    def distance(epochs):
        small = copy.deepcopy(whole).set_params(params=0.5, fitted=False, allocator="uniform")
        small.set_params(fine_tune_epochs=epochs, fine_tune_rate=0.1)
        probabilities = small.compress(parts.train).predict_proba(parts.test)
        return np.abs(probabilities - whole.predict_proba(parts.test)).mean()

    assert distance(20) < 0.5 * distance(0)


def test_data_of_other_shapes_are_named():
    parts = two_patterns()
    model = CompressedClassifier(**SMALL).fit(parts.train)
    with pytest.raises(ValueError, match=r"data must have inputs of shape \(8,\), got \(3,\)"):
        model.predict(np.zeros((2, 3), dtype=np.float32))
    tables = LabelledArrays(np.zeros((4, 2)), np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"data must be LabelledArrays with one class per row, got targets of shape"):
        CompressedClassifier().fit(tables)


@pytest.mark.data
def test_a_pretrained_network_on_real_images():
    from gossamer import datasets

    train, test = (datasets.load("cifar10", part=part)[:64] for part in ("train", "test"))
    model = CompressedClassifier(
        network="resnet20",
        weights="cifar10-resnet20",
        macs=0.8,
        params=0.8,
        allocator="uniform",
        search_rows=32,
        calibration_batches=2,
    ).fit(train)
    measured = model.evaluate(test)
    assert measured["macs_share"] <= 0.8
    assert measured["accuracy"] > 0.3
