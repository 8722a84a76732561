"""Metrics by name: over users, of the model's own, and of its size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.text import build_sentences
from gossamer.runner.estimators import make_estimator
from gossamer.runner.measure import fit, measure, name_held_out, num_held_out, stored_size
from gossamer.runner.source import make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec


@pytest.fixture
def split(blocks_file: Path) -> Split:
    return make_split(open_data(DataSpec(str(blocks_file))), SplitSpec("users", {"num_valid": 6, "num_test": 8}))


def test_ranking_metrics_have_errors_over_users(split: Split) -> None:
    model = make_estimator("item-knn", {}, seed=0)
    assert fit(model, split) >= 0
    measured = measure(model, split.test, ["recall@2", "ndcg@5", "values", "coverage@5"])
    assert list(measured.values) == ["recall@2", "ndcg@5", "values", "coverage@5"]
    assert set(measured.standard_error) == {"recall@2", "ndcg@5"}
    assert measured.ranking is not None
    assert measured.values["ndcg@5"] == pytest.approx(float(np.nanmean(measured.ranking.per_user["ndcg@5"])))
    assert measured.values["values"] == stored_size(model)[0]


def test_a_models_own_measures_may_carry_the_prefix_of_the_part(blocks_file: Path) -> None:
    split = make_split(open_data(DataSpec(str(blocks_file))), SplitSpec("random"))
    model = make_estimator("biased-mf", {"num_factors": 0}, seed=0)
    fit(model, split)
    measured = measure(model, split.test, ["test_mse", "mse", "values"])
    assert measured.values["test_mse"] == measured.values["mse"] > 0
    assert measured.ranking is None
    assert measured.values["values"] >= 40 + 16, "one bias for every user and item"
    with pytest.raises(ValueError, match=r"metrics must be names with an @ or one of mse, mae, got 'rmsle'"):
        measure(model, split.test, ["rmsle"])


def test_a_target_that_the_model_cannot_know_is_a_miss(split: Split) -> None:
    model = make_estimator("popularity", {}, seed=0)
    fit(model, split)
    known = str(split.train.items[0])
    history = Interactions.from_pairs(["ann", "ann", "bob"], ["new", "newer", "newest"], user_ids=None)
    target = Interactions.from_pairs(["ann", "bob", "bob"], [known, "newest of all", known], user_ids=history.users)
    everything = Interactions.from_pairs(["x"] * 5, [*history.items, *target.items]).items
    held_out = HeldOut(history.aligned_to(everything), target.aligned_to(everything))
    measured = measure(model, held_out, ["recall@100"])
    assert measured.ranking is not None
    assert measured.ranking.per_user["recall@100"].tolist() == [1.0, 0.5]


def test_what_cannot_recommend_has_no_ranking(split: Split) -> None:
    with pytest.raises(ValueError, match="metrics must be measures of object, got 'ndcg@5'"):
        measure(object(), split.test, ["ndcg@5"])


def test_sizes_count_values_and_bytes_with_indices() -> None:
    class Stored:
        def learned_arrays(self) -> dict[str, np.ndarray]:
            return {"data": np.zeros(3, np.float32), "indices": np.zeros(3, np.int32)}

    assert stored_size(Stored()) == (3, 24)


def test_a_model_that_counts_its_own_size_is_believed() -> None:
    class Stored:
        def learned_arrays(self) -> dict[str, np.ndarray]:
            return {"data": np.zeros(3, np.float32)}

        def num_values(self) -> int:
            return 2

        def num_bytes(self) -> int:
            return 7

    assert stored_size(Stored()) == (2, 7)
    assert measure(Stored(), None, ["bytes", "values"]).values == {"bytes": 7, "values": 2}


def test_all_measures_of_a_model_when_none_are_named() -> None:
    class Judged:
        def evaluate(self, data: object) -> dict[str, float]:
            return {"accuracy": 0.5, "objective": float(len(data))}  # type: ignore[arg-type]

    data = build_sentences(["a", "b"])
    assert measure(Judged(), data, None).values == {"accuracy": 0.5, "objective": 2.0}
    assert measure(Judged(), data, ["test_accuracy"]).values == {"test_accuracy": 0.5}
    assert (num_held_out(data), name_held_out(data)) == (2, "2 held-out documents")


def test_what_is_held_out_of_users_is_counted(split: Split) -> None:
    assert num_held_out(split.test) == split.test.target.nnz
    assert name_held_out(split.test) == "8 held-out users"
