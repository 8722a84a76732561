"""The study on disk: goes on for the same purpose, refuses another, survives what is no study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gossamer.runner.tuning.front import COMPLETE, FAILED, PRUNED
from gossamer.runner.tuning.study import Study

PURPOSE = {"model": "ease", "data": {"name": "x"}, "metric": "mse"}


def open_study(folder: Path, **changes: Any) -> Study:
    return Study.open(folder, PURPOSE | changes, metric="mse", is_pareto=False, seed=0)


def test_trials_are_kept_and_the_interrupted_are_drawn_again(tmp_path: Path) -> None:
    study = open_study(tmp_path / "a ? b")  # what a URL would take for more than a path
    for end in ("complete", "prune", "fail", "interrupt"):
        trial = study.ask({"l2": 5.0})
        drawn = trial.suggest_float("l2", 1, 9)
        trial.set_user_attr("settings", {"l2": drawn})
        if end == "complete":
            assert drawn == 5.0
            study.complete(trial, 0.5, 80, 0.25)
        elif end == "prune":
            trial.report(0.75, 0)
            study.prune(trial)
        elif end == "fail":
            study.fail(trial, "no")
        else:
            study.interrupt(trial)
            lost = drawn
    study.close()
    again = open_study(tmp_path / "a ? b")
    trials = again.trials()
    assert [trial.state for trial in trials] == [COMPLETE, PRUNED, FAILED]
    assert [(trial.value, trial.bytes, trial.problem) for trial in trials] == [
        (0.5, 80, None),
        (0.75, None, None),
        (None, None, "no"),
    ]
    assert again.ask({}).suggest_float("l2", 1, 9) == lost
    assert len(again.trials()) == 3  # one that runs has not ended
    again.close()


def test_a_study_without_trials_binds_nobody(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    study.interrupt(study.ask({}))  # as where the metric is none that the model has
    study.close()
    again = Study.open(tmp_path, PURPOSE | {"metric": "ndcg@10"}, metric="ndcg@10", is_pareto=False, seed=0)
    for value in (0.5, 0.75):
        again.complete(again.ask({}), value, 80, 0.25)
    assert again.trials_on_disk.best_value == 0.75  # another metric may have another direction
    again.close()


def test_another_purpose_is_refused_by_name(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    study.complete(study.ask({}), 0.5, 80, 0.25)
    study.close()
    for name, value in {"model": "slim", "data": {"name": "y"}, "metric": "mae"}.items():
        with pytest.raises(ValueError) as caught:
            open_study(tmp_path, **{name: value})
        assert str(caught.value).startswith(f"{name} must be that of the study {tmp_path / 'study.db'}, ")
        assert str(caught.value).endswith("; begin another study with another --out")
    open_study(tmp_path).close()


def test_what_is_no_study_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "study.db").write_text("my diary, not a data base\n" * 100)
    with pytest.raises(ValueError, match=r"study\.db must be a study that `gossamer tune` wrote, got another file"):
        open_study(tmp_path)
    assert (tmp_path / "study.db").read_text().startswith("my diary")
