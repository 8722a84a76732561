"""NeuralEM saved and loaded; the contracts test the rest."""

from __future__ import annotations

import numpy as np
import pytest
from test_neural_training import SMALL, shifted

from gossamer.models.markov import NeuralEM


@pytest.mark.parametrize("method", ["neural-em", "em"])
def test_a_loaded_model_answers_alike(tmp_path, method):
    data = shifted(8)
    model = NeuralEM(method=method, epochs=1, em_iterations=3, **SMALL).fit(data)
    model.save(tmp_path / "m")
    loaded = NeuralEM.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(data), model.predict_proba(data))
    assert loaded.evaluate(data) == model.evaluate(data)


def test_counts_have_a_prior_that_is_stored(tmp_path):
    data = shifted(8)
    counts = type(data)(np.abs(np.rint(data.observations)), data.offsets, features=data.features)
    model = NeuralEM(emission="poisson", epochs=1, **SMALL).fit(counts)
    model.save(tmp_path / "m")
    assert NeuralEM.load(tmp_path / "m").evaluate(counts) == model.evaluate(counts)
