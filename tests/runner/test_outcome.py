"""Fit and judge: one model or several on the same split."""

from __future__ import annotations

from pathlib import Path

from gossamer.runner.outcome import fit_and_judge, judge
from gossamer.runner.source import make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec


def test_a_model_is_fitted_and_judged(blocks_file: Path) -> None:
    data = open_data(DataSpec(str(blocks_file)))
    split = make_split(data, SplitSpec("users", {"num_valid": 6, "num_test": 8}))
    outcome = fit_and_judge("item-knn", split, settings={"num_neighbours": 4}, metrics=["recall@3"])
    assert outcome.estimator.num_neighbours == 4
    assert outcome.measured is not None
    assert outcome.measured.values["recall@3"] > 0.7, "four of the block's eight items are left, one is right"


def test_without_held_out_data_there_is_nothing_to_judge_by(blocks_file: Path) -> None:
    split = make_split(open_data(DataSpec(str(blocks_file))), SplitSpec("none"))
    outcome = fit_and_judge("popularity", split)
    assert outcome.measured is None
    assert judge(outcome.estimator, split.train[:0]) is None
