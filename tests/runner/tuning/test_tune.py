"""Trials: what is drawn, what is given up, what fails, and that an interruption changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gossamer.runner.source import make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec
from gossamer.runner.tuning.front import COMPLETE, FAILED, PRUNED, Trial
from gossamer.runner.tuning.study import Study
from gossamer.runner.tuning.tune import Tuning, run_trials


def run(tuning: Tuning, split: Any, folder: Path, trials: int) -> list[Trial]:
    """Run trials as far as they go, and return all of the study's."""
    said = {"metric": tuning.metric, "is_pareto": tuning.is_pareto, "seed": tuning.seed}
    study = Study.open(folder, tuning.purpose, **said)
    try:
        for _ in run_trials(tuning, study, split, trials):
            pass
        return study.trials()
    finally:
        study.close()


def outcomes(trials: list[Trial]) -> list[tuple[Any, ...]]:
    return [(trial.number, trial.state, trial.settings, trial.value, trial.bytes) for trial in trials]


def test_the_search_begins_with_the_defaults_and_ends_better(tuning_of, tmp_path: Path) -> None:
    tuning, split = tuning_of()
    trials = run(tuning, split, tmp_path, 14)
    assert trials[0].settings == {"patience": 2, "level": 5.0, "size": 10, "shape": [1]}
    assert (trials[0].state, trials[0].value, trials[0].bytes) == (COMPLETE, 4.0, 40)
    assert min(trial.value for trial in trials if trial.state == COMPLETE) < 1
    assert len(trials) == 14


def test_hopeless_trials_are_given_up_between_epochs(tuning_of, climber, tmp_path: Path) -> None:
    tuning, split = tuning_of(tried={"level": [3.0, 9.0]}, settings={"size": 1, "shape": [1]})
    trials = run(tuning, split, tmp_path, 12)
    by_level = {level: {one.state for one in trials[6:] if one.settings["level"] == level} for level in (3.0, 9.0)}
    assert by_level[3.0] == {COMPLETE}
    assert by_level[9.0] <= {PRUNED}
    pruned = [trial for trial in trials if trial.state == PRUNED]
    assert pruned, "a seed by which nothing is hopeless tests nothing"
    assert {(trial.value, trial.bytes) for trial in pruned} == {(36.0, None)}
    assert climber.num_fitted_epochs == 4 * (12 - len(pruned)) + 3 * len(pruned)  # two to warm up, and one to judge


def test_two_objectives_are_not_pruned(tuning_of, climber, tmp_path: Path) -> None:
    tuning, split = tuning_of(is_pareto=True)
    trials = run(tuning, split, tmp_path, 4)
    assert {trial.state for trial in trials} == {COMPLETE}
    assert all(trial.bytes == 4 * trial.settings["size"] for trial in trials)


def test_an_interrupted_search_goes_on_to_the_same_end(tuning_of, climber, monkeypatch, tmp_path: Path) -> None:
    tuning, split = tuning_of()
    whole = run(tuning, split, tmp_path / "whole", 8)
    fitted: list[Any] = []

    def press_control_c(estimator: Any) -> None:
        fitted.append(estimator)
        if len(fitted) in (1, 4, 9):
            raise KeyboardInterrupt

    monkeypatch.setattr(climber, "before_fit", press_control_c)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run(tuning, split, tmp_path / "parts", 8)
    parts = run(tuning, split, tmp_path / "parts", 8)
    assert outcomes(parts) == outcomes(whole)
    assert run(tuning, split, tmp_path / "parts", 8) == parts  # nothing is left to do
    assert len(fitted) == 11


@pytest.mark.parametrize("error", [ValueError, FloatingPointError, MemoryError])
def test_settings_that_fail_do_not_end_the_search(tuning_of, climber, monkeypatch, tmp_path: Path, error) -> None:
    def fail_at_first(estimator: Any) -> None:
        if estimator.level == 5.0:
            raise error

    monkeypatch.setattr(climber, "before_fit", fail_at_first)
    tuning, split = tuning_of(tried={"shape": [[-1], [1]]})
    trials = run(tuning, split, tmp_path, 4)
    assert (trials[0].state, trials[0].problem) == (FAILED, error.__name__)
    assert {trial.problem for trial in trials[1:] if trial.state == FAILED} <= {"shape must be positive, got [-1]"}
    assert any(trial.state == COMPLETE for trial in trials)


def test_a_bug_ends_the_search(tuning_of, climber, monkeypatch, tmp_path: Path) -> None:
    def err(_: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(climber, "before_fit", err)
    tuning, split = tuning_of()
    with pytest.raises(RuntimeError, match="ours"):
        run(tuning, split, tmp_path, 3)


def test_a_metric_that_the_model_does_not_have_is_the_callers_mistake(tuning_of, tmp_path: Path) -> None:
    tuning, split = tuning_of(metric="beauty")
    with pytest.raises(ValueError, match="metrics must be names with an @ or one of error, got 'beauty'"):
        run(tuning, split, tmp_path, 3)
    for metric in ("bytes", "mean_active"):
        with pytest.raises(ValueError, match="metric must be one of which more or less is better"):
            tuning_of(metric=metric)


def test_a_value_that_is_not_finite_is_no_outcome(tuning_of, climber, monkeypatch, tmp_path: Path) -> None:
    tuning, split = tuning_of()
    monkeypatch.setattr(climber, "fit", lambda self, data, validation=None: self)
    monkeypatch.setattr(climber, "evaluate", lambda self, data: {"error": float("nan")})
    assert [trial.problem for trial in run(tuning, split, tmp_path, 2)] == ["error is nan"] * 2


def test_the_test_part_is_not_looked_at_and_validation_must_be_there(tuning_of, blocks_file, tmp_path: Path) -> None:
    tuning, split = tuning_of()
    without_test = type(split)(split.train, split.valid, None, split.description)
    assert len(run(tuning, without_test, tmp_path, 2)) == 2
    whole = make_split(open_data(DataSpec(str(blocks_file))), SplitSpec("none"))
    with pytest.raises(ValueError, match="split must hold out validation data to tune on, got 'none'"):
        run(tuning, whole, tmp_path, 3)
