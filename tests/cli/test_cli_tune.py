"""`gossamer tune`: a study that goes on, what it leaves, and mistakes in one sentence."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from command_line import COLUMNS, Gossamer

TUNE = ("tune", "item-knn", "--data", "ratings.csv", *COLUMNS, "--out", "study", "--metric", "ndcg@5")


def test_a_study_is_gone_on_with_and_its_best_reproduced(gossamer: Gossamer, ratings: Path) -> None:
    done = gossamer(*TUNE, "--trials", 2, "--set", "shrinkage=1")
    assert done.code == 0, done.err
    assert done.out.count("trial ") >= 2
    assert "gossamer reproduce study/study-best.toml" in done.out
    first = json.loads(Path("study/trials.json").read_text())["trials"]
    again = gossamer(*TUNE, "--trials", 3, "--set", "shrinkage=1", "--json")
    assert again.code == 0, again.err
    found = json.loads(again.out)
    assert found["trials"][:2] == first
    assert (len(found["trials"]), found["best"]["settings"]["shrinkage"]) == (3, 1)
    assert Path("study/front.svg").is_file()


def test_the_first_line_of_what_was_found_is_a_command_that_runs(gossamer: Gossamer, ratings: Path) -> None:
    for folder in ("study", "Second study"):
        tune = [*TUNE, "--trials", 1]
        tune[tune.index("study")] = folder
        assert gossamer(*tune).code == 0
        (best,) = Path(folder).glob("*-best.toml")
        command = shlex.split(best.read_text().split("\n")[0].removeprefix("# gossamer "))
        done = gossamer(*command)
        assert done.code == 0, done.err
    assert {path.name for path in Path("results").iterdir()} == {"study-best", "second-study-best"}


def test_mistakes_are_one_sentence(gossamer: Gossamer, ratings: Path) -> None:
    assert gossamer(*TUNE, "--trials", 1).code == 0
    for arguments, problem in [
        (["--seed", 1], "gossamer: split must be that of the study study/study.db"),
        (["--try", "weighting=[1"], "gossamer: weighting must be tried as a list of values"),
        (["--set", "neighbours=3"], "gossamer: item-knn has no setting 'neighbours'"),
        (["--try", "weighting"], "gossamer: --try must be key=value, got 'weighting'"),
    ]:
        done = gossamer(*TUNE, "--trials", 1, *arguments)
        assert done.code == 2
        assert done.err.startswith(problem)
        assert done.err.count("\n") == 1


def test_ctrl_c_says_how_to_go_on(gossamer: Gossamer, ratings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gossamer.runner.tuning import tune

    def press_control_c(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tune, "fit", press_control_c)
        done = gossamer(*TUNE, "--trials", 1)
    assert done.code == 130
    said = "the trials so far are in study; the same command goes on from there"
    assert done.err == f"gossamer: {said}\ngossamer: interrupted\n"
    assert gossamer(*TUNE, "--trials", 1).code == 0


def test_a_missing_extra_names_its_command(gossamer: Gossamer, ratings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("optuna", "gossamer.runner.tuning"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optuna", None)
    done = gossamer(*TUNE, "--trials", 1)
    assert (done.code, done.err) == (
        2,
        "gossamer: tuning needs optuna; install it with: pip install 'gossamer[tune]'\n",
    )
