"""Experiment files of a search: they say what was chosen, and the runner reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.runner.experiment import read_experiment
from gossamer.runner.tuning.front import COMPLETE, Trial
from gossamer.runner.tuning.writing import experiment_path, write_experiment, write_findings

SETTINGS = {"level": 3.5, "size": 7, "shape": [2], "patience": None}


def test_best_and_front_are_experiments(tuning_of, tmp_path: Path) -> None:
    tuning, _ = tuning_of()
    trials = [
        Trial(0, COMPLETE, SETTINGS, 0.25, 28, 0.1),
        Trial(1, COMPLETE, SETTINGS | {"size": 2}, 0.5, 8, 0.1),
        Trial(2, COMPLETE, SETTINGS | {"size": 90}, 0.5, 360, 0.1),
    ]
    found = write_findings(tmp_path, tuning, trials)
    assert json.loads((tmp_path / "trials.json").read_text()) == json.loads(json.dumps(found))
    assert (found["best"]["number"], [trial["number"] for trial in found["front"]]) == (0, [1, 0])
    best, front = (read_experiment(experiment_path(tmp_path, name)) for name in ("best", "front"))
    assert best.rows[0].settings == {"level": 3.5, "size": 7, "shape": [2]}  # TOML has no word for None
    assert [row.name for row in front.rows] == ["climber-1", "climber-0"]
    assert (best.metrics, best.seeds) == (("error", "values", "bytes"), (0,))
    assert (best.data, best.split) == (tuning.origin.data, tuning.origin.split)


def test_null_is_refused_where_it_is_not_the_default(tuning_of, tmp_path: Path) -> None:
    tuning, _ = tuning_of()
    with pytest.raises(ValueError, match="level must not be null in an experiment file"):
        write_experiment(tmp_path / "best.toml", tuning, [Trial(0, COMPLETE, {"level": None}, 0.5, 8)])
    assert not (tmp_path / "best.toml").exists()
