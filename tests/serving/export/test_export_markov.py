"""Filters of Markov models beyond the contracts: every emission, missing values, and why some are refused."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.markov import HMM, HSMM
from gossamer.serving.export.onnx_file import draw_graph
from gossamer.testing.export_parity import assert_parity
from gossamer.testing.right_answers import two_phases

pytest.importorskip("onnxruntime")
SMALL = {"num_states": 2, "num_starts": 1, "epochs": 3}


def series_of(emission):
    data = two_phases().train[:4]
    states = data.states
    rng = np.random.default_rng(0)
    if emission == "categorical":
        return Sequences(2 * states + rng.integers(0, 2, len(states)), data.offsets, vocabulary=Vocabulary("abcd"))
    if emission == "multinomial":
        return Sequences(rng.random((len(states), 3)) + np.eye(3)[states], data.offsets)
    if emission == "poisson":
        return Sequences(rng.poisson(1 + 4 * states[:, None], (len(states), 2)).astype(float), data.offsets)
    return data


@pytest.mark.parametrize("emission", ["gaussian", "gaussian-full", "categorical", "multinomial", "poisson"])
@pytest.mark.parametrize("family", [HMM, HSMM])
def test_emissions(family, emission):
    data = series_of(emission)
    assert_parity(family(emission=emission, **SMALL).fit(data), data)


def test_missing_values_say_nothing():
    data = series_of("gaussian")
    observed = np.array(data.observations)
    observed[3, 0] = observed[5] = np.nan
    data = Sequences(observed, data.offsets)
    assert_parity(HMM(**SMALL).fit(data), data)


def test_models_of_single_series_are_refused():
    model = HMM(tied=False, **SMALL).fit(series_of("gaussian"))
    with pytest.raises(ValueError, match="tied must be True for a model to be exported, got False"):
        draw_graph(model)
