"""Searches: every combination or a seeded draw, chosen by the named metric in its own direction."""

from __future__ import annotations

import math

import pytest

from gossamer.runner.search import choose, lower_is_better, propose
from gossamer.runner.specs import SearchSpec


def test_a_grid_is_the_product_in_the_order_of_the_file() -> None:
    search = SearchSpec("grid", "ndcg@5", {"a": [1, 2], "b": ["x", "y"]}, 4)
    assert propose(search, 0) == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]


def test_random_draws_lie_in_their_ranges_and_depend_on_the_seed() -> None:
    space = {
        "rate": {"low": 1e-4, "high": 1.0, "scale": "log"},
        "share": {"low": -1.0, "high": 1.0},
        "width": {"low": 8, "high": 64, "integer": True},
        "solver": ["cg", "cholesky"],
    }
    search = SearchSpec("random", "ndcg@5", space, 200)
    trials = propose(search, 3)
    assert trials == propose(search, 3) != propose(search, 4)
    assert len(trials) == 200
    assert all(1e-4 <= trial["rate"] <= 1 and -1 <= trial["share"] <= 1 for trial in trials)
    assert all(isinstance(trial["width"], int) and 8 <= trial["width"] <= 64 for trial in trials)
    assert {trial["solver"] for trial in trials} == {"cg", "cholesky"}
    # A log scale puts half of the draws below the geometric mean.
    assert 70 < sum(trial["rate"] < 1e-2 for trial in trials) < 130


@pytest.mark.parametrize(("metric", "best"), [("ndcg@5", 3), ("test_mse", 1)])
def test_the_best_is_the_highest_score_or_the_lowest_error(metric: str, best: int) -> None:
    search = SearchSpec("grid", metric, {"a": [2, 1, 3]}, 3)
    chosen, trace = choose(search, 0, lambda settings: (float(settings["a"]), 0.5))
    assert chosen == {"a": best}
    assert trace["on"] == "validation"
    assert trace["trials"][0] == {"settings": {"a": 2}, "value": 2.0, "seconds": 0.5}


def test_the_first_of_equals_wins_and_nan_never_does() -> None:
    search = SearchSpec("grid", "ndcg@5", {"a": [1, 2, 3]}, 3)
    chosen, trace = choose(search, 0, lambda settings: (math.nan if settings["a"] == 1 else 0.5, 0.0))
    assert chosen == {"a": 2}
    assert trace["trials"][0]["value"] is None
    with pytest.raises(ValueError, match="ndcg@5 must be finite for one of 3 settings at least, got none"):
        choose(search, 0, lambda _: (math.nan, 0.0))


def test_errors_are_known_by_name() -> None:
    errors = ("mse", "test_mae", "perplexity", "cross_entropy", "objective", "valid_loss")
    assert all(lower_is_better(name) for name in errors)
    assert not any(lower_is_better(name) for name in ("recall@20", "accuracy", "values"))
