"""Specs say what is wrong with a table by the name of its key."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.runner.specs import DataSpec, PairedSpec, SearchSpec, SplitSpec, check_keys


def test_data_round_trips_and_leaves_out_what_was_not_said() -> None:
    spec = DataSpec("ml-1m", min_rating=4, min_per_user=5)
    assert spec.as_json() == {"name": "ml-1m", "min_rating": 4, "min_per_user": 5}
    assert DataSpec.from_json(spec.as_json()) == spec


def test_split_round_trips_as_one_flat_table() -> None:
    spec = SplitSpec("users", {"num_valid": 750, "num_test": 750}, seed=3)
    assert spec.as_json() == {"kind": "users", "num_valid": 750, "num_test": 750, "seed": 3}
    assert SplitSpec.from_json(spec.as_json()) == spec


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": "ml-1m", "min_ratng": 4}, r"\[data\] has no key 'min_ratng' \(did you mean 'min_rating'\?\)"),
        ({}, r"\[data\] must have the key 'name'"),
        ({"name": ""}, "name must be a data set or a file, got ''"),
        ({"name": "x", "min_rating": "four"}, "min_rating must be a finite number, got 'four'"),
        ({"name": "x", "min_per_user": 0}, "min_per_user must be an integer >= 1, got 0"),
    ],
)
def test_wrong_data_is_named(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        DataSpec.from_json(values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"kind": "user"}, "split kind must be one of 'users', 'random'"),
        ({"kind": "users", "fractions": [0.8, 0.2]}, "the split 'users' has no key 'fractions'"),
        ({"kind": "random", "seed": -1}, "split seed must be an integer >= 0, got -1"),
        ({"kind": "random", "sede": 1}, r"\[split\] has no key 'sede' \(did you mean 'seed'\?\)"),
    ],
)
def test_wrong_split_is_named(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        SplitSpec.from_json(values)


METRICS, ROWS = ["ndcg@100", "coverage@5", "test_mse"], ["ease", "als"]


def test_a_comparison_names_its_column() -> None:
    spec = PairedSpec.from_json({"metric": "ndcg@100", "against": "ease"}, METRICS, ROWS)
    assert spec == PairedSpec("ndcg@100", "ease")
    assert spec.column == "ndcg@100 − ease"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ("ndcg@100", "paired must be a table, got 'ndcg@100'"),
        ({"metric": "ndcg@100"}, "paired must have the key 'against'"),
        ({"metric": "ndcg@100", "agianst": "ease"}, r"paired has no key 'agianst' \(did you mean 'against'\?\)"),
        ({"metric": "ndcg@10", "against": "ease"}, "paired.metric must be one of 'ndcg@100', .*, got 'ndcg@10'"),
        ({"metric": ["ndcg@100"], "against": "ease"}, "paired.metric must be one of .*, got \\['ndcg@100'\\]"),
        ({"metric": "test_mse", "against": "ease"}, "paired.metric must have a value per user, .*, got 'test_mse'"),
        ({"metric": "coverage@5", "against": "ease"}, "paired.metric must have a value per user, .*, got 'coverage@5'"),
        ({"metric": "ndcg@100", "against": "slim"}, "paired.against must be one of 'ease', 'als', got 'slim'"),
    ],
)
def test_a_wrong_comparison_is_named(values: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        PairedSpec.from_json(values, METRICS, ROWS)


def search(**changes: object) -> dict[str, object]:
    return {"kind": "grid", "metric": "ndcg@100", "space": {"l2": [1, 10], "k": [5, 6, 7]}} | changes


def test_a_grid_counts_its_trials() -> None:
    assert SearchSpec.from_json(search()).trials == 6
    assert SearchSpec.from_json(search(trials=6)).trials == 6


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (search(trials=5), "trials must be 6, the size of the grid, got 5"),
        (search(kind="bayes"), "search kind must be one of 'grid', 'random', got 'bayes'"),
        (search(kind="random"), "trials must be an integer >= 1, got None"),
        (search(space={}), "space must be a table of settings and their values"),
        (search(space={"l2": 3}), "space.l2 must be a list of values, got 3"),
        (search(space={"l2": {"low": 1, "high": 2}}), "space.l2 must be a list of values, got"),
        (search(kind="random", trials=2, space={"l2": {"low": 1}}), "space.l2 must have the key 'high'"),
        (
            search(kind="random", trials=2, space={"l2": {"low": 0, "high": 1, "scale": "log"}}),
            "space.l2.low must be a finite number > 0, got 0",
        ),
        (
            search(kind="random", trials=2, space={"l2": {"low": 2, "high": 1}}),
            "space.l2.high must be a finite number > 2.0, got 1",
        ),
        (
            search(kind="random", trials=2, space={"l2": {"low": 1, "high": 2, "integer": 1}}),
            "space.l2.integer must be true or false, got 1",
        ),
        (search(tries=5), r"\[row.search\] has no key 'tries'"),
    ],
)
def test_wrong_search_is_named(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        SearchSpec.from_json(values)


def test_the_beginning_of_a_name_is_enough_for_a_hint() -> None:
    with pytest.raises(ValueError, match=r"ease has no setting 'reg' \(did you mean 'regularization'\?\)"):
        check_keys("ease", {"reg": 3}, ["regularization"], noun="setting")


def test_a_table_must_be_a_table() -> None:
    with pytest.raises(ValueError, match=r"\[data\] must be a table, got 3"):
        check_keys("[data]", 3, ["name"])  # type: ignore[arg-type]
