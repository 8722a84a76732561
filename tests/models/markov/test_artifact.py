from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.models.markov import HMM, HSMM
from gossamer.testing.planted import planted_phases


@pytest.mark.parametrize(
    "model",
    [
        HMM(num_states=2, emission="gaussian-full"),
        HSMM(num_states=2, duration="table", max_duration=5),
        HSMM(num_states=2, duration="negative-binomial", tied=False),
    ],
    ids=["full", "table", "own"],
)
def test_every_kind_of_model_comes_back(model: HMM | HSMM, tmp_path: Path):
    data = planted_phases(3, num_states=2, random_state=0).data
    model = type(model)(**model.get_params()).fit(data)
    model.save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(data), model.predict(data))
    assert loaded.score(data) == model.score(data)
    assert loaded.explain(2) == model.explain(2)
