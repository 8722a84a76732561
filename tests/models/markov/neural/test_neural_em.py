"""The estimator: parameters at once for series with features only or with few observations."""

from __future__ import annotations

import numpy as np
import pytest
from test_neural_training import SMALL, shifted

from gossamer import datasets
from gossamer.data import Sequences
from gossamer.models.markov import NeuralEM


@pytest.fixture(scope="module")
def fitted() -> NeuralEM:
    return NeuralEM(epochs=10, learning_rate=0.02, **SMALL).fit(shifted(), shifted(8, seed=2))


def test_new_series_are_decoded_by_models_of_their_own(fitted):
    test = shifted(10, seed=1)
    assert fitted.evaluate(test)["label_accuracy"] > 0.95
    models = fitted.models_for(test)
    assert models.parameters_["emission.means"].shape == (10, 2, 1)
    assert models.sample(10, length=5, random_state=0).lengths.tolist() == [5] * 10
    assert fitted.next_phase(test).state_probs.shape == (10, 2)
    assert fitted.next_observation(test).expected.shape == (10, 1)


def test_few_observations_move_what_features_say(fitted):
    features = np.array([[1.5, 0.0]])
    none = Sequences(np.zeros((0, 1)), np.array([0, 0]), features=features)
    some = Sequences(np.array([[2.5], [2.4], [2.6]]), np.array([0, 3]), features=features)
    before, after = (fitted.models_for(data).parameters_["emission.means"][0, :, 0] for data in (none, some))
    assert before[0] < after[0] < 2.5
    assert abs(after[1] - before[1]) < abs(after[0] - before[0])


def test_true_states_name_the_states(fitted):
    assert fitted.start_["emission.means"][0, 0, 0] < fitted.start_["emission.means"][0, 1, 0]


def test_data_must_have_the_features_of_the_fit(fitted):
    plain = Sequences(np.zeros((3, 1)), np.array([0, 3]))
    with pytest.raises(ValueError, match="data must have 2 features per series, as those of the fit have, got 0"):
        fitted.predict(plain)


def test_the_oracle_decodes_by_the_parameters_that_made_the_data():
    options = {"num_train": 20, "num_valid": 1, "num_test": 10}
    train, test = (datasets.load("hsmm-collection", part=part, **options) for part in ("train", "test"))
    settings = {"num_states": 10, "num_starts": 1, "start_epochs": 5}
    oracle = NeuralEM(method="oracle", **settings).fit(train).evaluate(test)
    pooled = NeuralEM(method="pooled-em", **settings).fit(train).evaluate(test)
    assert oracle["label_accuracy"] > 0.95 > pooled["label_accuracy"]
