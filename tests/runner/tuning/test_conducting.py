"""A whole search of a real model: its best settings, reproduced, are the model it measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gossamer.runner.estimators import make_estimator
from gossamer.runner.experiment import read_experiment
from gossamer.runner.measure import fit, measure
from gossamer.runner.provenance import open_for
from gossamer.runner.run import run_row
from gossamer.runner.specs import DataSpec
from gossamer.runner.tuning.conducting import tune
from gossamer.runner.tuning.writing import experiment_path


def test_the_best_settings_are_reproduced(blocks_file: Path, tmp_path: Path) -> None:
    data, folder = DataSpec(str(blocks_file)), tmp_path / "study"
    heard: list[Any] = []
    found = tune("item-knn", data, folder, trials=4, metric="ndcg@5", on_trial=heard.append)
    assert [trial.number for trial in heard] == [0, 1, 2, 3]
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["study-best.toml", "study-front.toml", "study.db", "trials.json"]
    experiment = read_experiment(folder / "study-best.toml")
    record = run_row(experiment, experiment.rows[0], seed=0)
    assert record.settings == found["best"]["settings"]
    assert record.metrics["bytes"] == found["best"]["bytes"]
    _, split = open_for("item-knn", data)
    estimator = make_estimator("item-knn", record.settings, seed=0)
    fit(estimator, split)
    assert measure(estimator, split.valid, ["ndcg@5"]).values["ndcg@5"] == found["best"]["value"]


def test_what_ended_before_ctrl_c_is_written(blocks_file: Path, tmp_path: Path, climber) -> None:
    def press_control_c(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune("climber", DataSpec(str(blocks_file)), tmp_path, trials=3, split="users", on_trial=press_control_c)
    assert read_experiment(experiment_path(tmp_path, "best")).rows[0].settings["level"] == 5.0


def test_mistakes_come_before_the_data(tmp_path: Path) -> None:
    nowhere = DataSpec("no/such/file.csv")
    with pytest.raises(ValueError, match="trials must be an integer >= 1, got 0"):
        tune("ease", nowhere, tmp_path, trials=0)
    with pytest.raises(ValueError, match="device must be 'cpu' for ease"):
        tune("ease", nowhere, tmp_path, trials=1, device="cuda")
    assert list(tmp_path.iterdir()) == []
