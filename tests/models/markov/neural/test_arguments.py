"""Arguments and features of NeuralEM, checked."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_series import layers, tiny_batch

from gossamer.models.markov import NeuralEM
from gossamer.models.markov.neural.arguments import features_of, unrolled_of


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gradient": "guess"}, "gradient must be one of 'exact', 'spsa', 'stopped', got 'guess'"),
        ({"final": "both"}, "final must be one of 'network', 'em', got 'both'"),
        ({"final": "em"}, "gradient must be 'exact' or 'spsa' where EM has the last word .*, got 'stopped'"),
        ({"method": "magic"}, "method must be one of 'neural-em', 'em', .*, got 'magic'"),
        (
            {"emission": "gaussian-full"},
            "emission must be one of 'gaussian', 'categorical', 'multinomial', 'poisson', got",
        ),
        ({"hidden_share": 1.0}, "hidden_share must be .*, got 1"),
        ({"max_duration": 1}, "max_duration must be an integer >= 2, got 1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        NeuralEM(**arguments).fit(None)


def test_layers_are_those_asked_for():
    asked = NeuralEM(num_layers=2, gradient="exact", perturbations=4)
    assert unrolled_of(asked) == layers()


def test_features_must_be_those_of_the_fit():
    batch = tiny_batch()
    assert features_of(batch, 0).tolist() == [[1]] * 3
    with pytest.raises(ValueError, match=r"data must have 2 features per series, as those of the fit have, got 0"):
        features_of(batch, 2)
    assert features_of(batch._replace(features=np.ones((3, 2))), 2).tolist() == [[1, 1, 1]] * 3
