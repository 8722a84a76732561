"""Fit and judge: one model or several on the same split."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.runner.outcome import fit_and_judge, is_artifact, judge, judge_models, model_of
from gossamer.runner.provenance import Origin
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


def test_fitted_models_are_judged_on_their_own_split(blocks_file: Path, tmp_path: Path) -> None:
    data, division = DataSpec(str(blocks_file)), SplitSpec("users", {"num_valid": 6, "num_test": 8}, seed=0)
    split = make_split(open_data(data), division)
    fitted = fit_and_judge("item-knn", split, settings={"num_neighbours": 4})
    folder = tmp_path / "knn"
    fitted.estimator.save(folder, provenance=Origin("item-knn", data, division, None).as_json())
    assert is_artifact(str(folder))
    assert not is_artifact("item-knn")
    assert (model_of(str(folder)), model_of("ease")) == ("item-knn", "ease")
    new, loaded = judge_models(["popularity", str(folder), "popularity"], split, data=data, division=division)
    assert (new.model, loaded.model, loaded.seconds) == ("popularity", str(folder), None)
    assert fitted.measured is not None
    assert loaded.measured is not None
    assert loaded.measured.values == fitted.measured.values
    other = SplitSpec("users", {"num_valid": 6, "num_test": 8}, seed=1)
    with pytest.raises(
        ValueError, match=r"knn must be fitted on the data and split it is compared on, .*'seed': 1.*'seed': 0"
    ):
        judge_models([str(folder)], split, data=data, division=other)
