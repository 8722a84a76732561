"""One checkpoint per run, for models that can go on from one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.runner.checkpoints import checkpoint_path, takes_checkpoint
from gossamer.runner.estimators import make_estimator


def test_every_run_has_a_checkpoint_of_its_own() -> None:
    out = Path("models") / "vae"
    first = checkpoint_path(out, {"epochs": 3, "seed": 0})
    assert first == checkpoint_path(out, {"seed": 0, "epochs": 3})
    assert first.parent == out.parent
    others = [checkpoint_path(out, {"epochs": 4, "seed": 0}), checkpoint_path(Path("vae2"), {"epochs": 3, "seed": 0})]
    assert first not in others


@pytest.mark.parametrize(("model", "takes"), [("count-vae", True), ("als", True), ("ease", False), ("unigram", False)])
def test_models_that_train_in_epochs_take_one(model: str, takes: bool) -> None:
    assert takes_checkpoint(make_estimator(model, {}, seed=0)) is takes
