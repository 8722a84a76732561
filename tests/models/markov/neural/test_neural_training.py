"""Training through the loop: it learns what features say, stops, and goes on."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_series import tiny_batch

from gossamer.data import Sequences
from gossamer.models.markov import NeuralEM
from gossamer.models.markov.neural.training import take_series

SMALL = {"num_states": 2, "hidden_dim": 8, "latent_dim": 2, "num_starts": 1, "start_epochs": 5, "batch_size": 8}


def shifted(num_series: int = 24, length: int = 10, seed: int = 0) -> Sequences:
    """Return series of two phases whose means are moved by the series' own feature."""
    rng = np.random.default_rng(seed)
    shift = rng.choice([-1.5, 1.5], size=num_series)
    states = np.tile(np.arange(length) // 3 % 2, num_series)
    values = 6.0 * states + np.repeat(shift, length) + rng.normal(size=len(states))
    features = np.stack([shift, rng.normal(size=num_series)], axis=1)
    return Sequences(values[:, None], np.arange(num_series + 1) * length, features=features, states=states)


@pytest.mark.parametrize("method", ["neural-em", "mlp-mapping", "em-mapping", "initial-fusion"])
def test_features_are_learned(method):
    train, test = shifted(), shifted(seed=1)
    model = NeuralEM(method=method, gradient="exact", epochs=12, learning_rate=0.02, **SMALL).fit(train)
    losses = [epoch["loss"] for epoch in model.history_["epochs"]]
    assert losses[-1] < losses[0]
    alone = Sequences(np.zeros((0, 1)), np.zeros(len(test) + 1, dtype=int), features=test.features)
    means = model.models_for(alone).parameters_["emission.means"].mean(axis=(1, 2))
    if method != "initial-fusion":  # whose last EM layer has nothing to go by
        assert np.corrcoef(means, test.features[:, 0])[0, 1] > 0.8


def test_an_interrupted_run_goes_on(tmp_path):
    data = shifted(12)
    whole = NeuralEM(epochs=4, **SMALL).fit(data)
    NeuralEM(epochs=2, **SMALL).fit(data, checkpoint=tmp_path / "c")
    resumed = NeuralEM(epochs=4, **SMALL).fit(data, checkpoint=tmp_path / "c")
    for name, value in whole.learned_arrays().items():
        np.testing.assert_array_equal(resumed.learned_arrays()[name], value, err_msg=name)


def test_some_series_of_a_batch():
    batch = tiny_batch()
    some = take_series(batch, np.array([2, 0]))
    assert some.offsets.tolist() == [0, 8, 16]
    np.testing.assert_array_equal(some.values[:8], batch.values[16:])
