from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer.models.discrete import SparseDiscreteVAE, training
from gossamer.testing.right_answers import two_patterns

SMALL: dict[str, Any] = {
    "num_features": 6,
    "max_active": 3,
    "encoder_dims": [8],
    "decoder_dims": [8],
    "gate_dims": [4],
    "epochs": 20,
    "batch_size": 8,
    "learning_rate": 0.03,
    "warmup": 0.5,  # so little data, so small a gain: with the whole KL from the start codes may never come to be used
}


@pytest.mark.parametrize("select", ["hard", "relaxed", "last"])
def test_the_epoch_that_validation_selects_is_kept(select: str):
    parts = two_patterns()
    arguments = {**SMALL, "learning_rate": 0.3, "epochs": 15}
    model = SparseDiscreteVAE(select=select, **arguments).fit(parts.train, validation=parts.valid)
    seen = model.history_["epochs"]
    kept = model.history_["best_epoch"]
    if select == "last":
        assert len(seen) == 15
    else:
        assert seen[kept][f"valid_{select}"] == min(epoch[f"valid_{select}"] for epoch in seen)
    now = model._measure_epoch(model._read(parts.valid))
    assert now["valid_hard"] == pytest.approx((seen[-1] if select == "last" else seen[kept])["valid_hard"])


def test_patience_ends_training():
    parts = two_patterns()
    model = SparseDiscreteVAE(patience=2, **{**SMALL, "learning_rate": 0.5, "epochs": 60})
    model.fit(parts.train, validation=parts.valid)
    assert len(model.history_["epochs"]) < 60


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_run_goes_on_to_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    train = two_patterns().train
    arguments = {**SMALL, "epochs": 4, "temperature_schedule": "annealed", "gradient": "gumbel-straight-through"}
    whole = SparseDiscreteVAE(**arguments).fit(train)
    calls = 0
    real = training.negative_bound

    def interrupted(*values: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return real(*values, **named)

    monkeypatch.setattr(training, "negative_bound", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SparseDiscreteVAE(**arguments).fit(train, checkpoint=tmp_path / "run.ckpt")
    resumed = SparseDiscreteVAE(**arguments).fit(train, checkpoint=tmp_path / "run.ckpt")
    for name, array in whole.learned_arrays().items():
        np.testing.assert_array_equal(array, resumed.learned_arrays()[name], err_msg=name)


def test_constant_columns_of_real_data_are_refused_and_of_binary_data_are_fine():
    x = np.random.default_rng(0).normal(size=(20, 3))
    x[:, 1] = 4.0
    with pytest.raises(
        ValueError, match=r"data must vary in every column with observation='real', got the constant 4 in"
    ):
        SparseDiscreteVAE(observation="real", **SMALL).fit(x)
    constant = np.ones((10, 2), dtype=np.float32)
    assert SparseDiscreteVAE(**{**SMALL, "epochs": 40}).fit(constant).evaluate(constant)["hard"] < 0.5
    with pytest.raises(ValueError, match=r"data must have at least one count above 0, got 5 rows without"):
        SparseDiscreteVAE(observation="counts", **SMALL).fit(np.zeros((5, 2)))
