"""Saved models within a budget; the rest is in tests/cli/test_cli_compress.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.models.lowrank import CompressedClassifier
from gossamer.persistence import read_artifact
from gossamer.runner import compressing_artifacts as module
from gossamer.runner.compressing_artifacts import compress_artifact
from gossamer.testing.right_answers import two_patterns

SMALL = {"hidden_dims": [16], "epochs": 5, "batch_size": 16, "search_rows": 16, "iterations": 2, "polish": 1}


def test_a_classifier_on_the_training_part_of_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = two_patterns()
    whole = CompressedClassifier(**SMALL).fit(parts.train)
    origin = {
        "model": "compressed-classifier",
        "data": {"name": "mnist"},
        "split": {"kind": "given"},
        "fingerprint": None,
    }
    whole.save(tmp_path / "whole", provenance=origin)
    monkeypatch.setattr(module, "reopen", lambda config, *_: (None, None, parts))
    compress_artifact(str(tmp_path / "whole"), tmp_path / "small", settings={"params": 0.7, "scheme": "channel"})
    found = read_artifact(tmp_path / "small")
    assert found.config["provenance"] == origin
    assert found.estimator.params == 0.7
    assert found.estimator.scheme == "channel"
    assert found.estimator.num_values() <= 0.7 * whole.num_values()
    assert found.config["metrics"] == found.estimator.evaluate(parts.test)


def test_models_that_forgot_their_data_say_so(tmp_path: Path) -> None:
    CompressedClassifier(**SMALL).fit(two_patterns().train).save(tmp_path / "whole")
    with pytest.raises(ValueError, match="the model must remember its data"):
        compress_artifact(str(tmp_path / "whole"), tmp_path / "small", settings={"params": 0.7})
