from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.models.embeddings.objective import objective
from gossamer.models.embeddings.ratings.nonparametric_recommender import NonparametricRecommender
from gossamer.testing.contracts import two_blocks


def planted_kinds(num_kinds: int = 4, seed: int = 0) -> HeldOut:
    """Users and items each of one kind; a rating depends on both kinds, with little noise; a fifth is held out."""
    generator = np.random.default_rng(seed)
    users, items = generator.integers(num_kinds, size=120), generator.integers(num_kinds, size=80)
    truth = 3 + generator.normal(0, 1.0, size=(num_kinds, num_kinds))[users][:, items]
    truth += generator.normal(0, 0.1, truth.shape)
    rows, columns = np.divmod(np.arange(truth.size), truth.shape[1])
    whole = Interactions.from_pairs(rows, columns, rating=truth.ravel())
    held = generator.random(whole.nnz) < 0.2
    return HeldOut(whole.keep(~held), whole.keep(held))


SETTINGS = {"embedding_dim": 4, "lambda1": 0.01, "lambda2": 1e-5, "epochs": 10}


def test_one_run_is_as_good_as_the_best_of_a_grid():
    """With the anchors that four kinds need, more would only cost: the objective has its lowest value in between."""
    data = planted_kinds()
    grid = {
        number: NonparametricRecommender(initial_anchors=number, change=0, **SETTINGS)
        .fit(data.history, data)
        .evaluate(data)["objective"]
        for number in (2, 4, 9)
    }
    assert grid[4] < min(grid[2], grid[9])
    learned = NonparametricRecommender(initial_anchors=9, change=-1, **SETTINGS).fit(data.history, data)
    assert learned.evaluate(data)["objective"] < 1.02 * grid[4]
    assert learned.evaluate(data)["num_anchors"] < 18


@pytest.mark.parametrize("solver", ["als", "proximal"])
def test_the_trace_tells_how_the_objective_came_about(solver: str):
    data = planted_kinds()
    settings = {**SETTINGS, "epochs": 5, "window": 2, "batch_size": 512}
    model = NonparametricRecommender(solver=solver, initial_anchors=4, max_anchors=6, **settings)
    model.fit(data.history, data)
    epochs = model.history_["epochs"]
    for epoch in epochs:
        expected = objective(epoch["mse"], int(epoch["nnz"]), int(epoch["num_anchors"]), 0.01, 1e-5)
        assert epoch["objective"] == pytest.approx(expected)
    assert len({epoch["num_anchors"] for epoch in epochs}) > 1
    best = min(epochs, key=lambda epoch: epoch["objective"])
    found = model.evaluate(data)
    assert (
        found["num_anchors"] == best["num_anchors"] == model.model_.users.num_anchors + model.model_.items.num_anchors
    )
    assert found["nnz"] == best["nnz"]
    assert found["objective"] == pytest.approx(best["objective"], rel=1e-5)


def test_without_validation_data_the_training_data_give_the_trend():
    data = planted_kinds().history
    model = NonparametricRecommender(initial_anchors=2, **{**SETTINGS, "epochs": 3}).fit(data)
    last = model.history_["epochs"][model.history_["best_epoch"]]
    assert model.evaluate(HeldOut(data, data))["mse"] == pytest.approx(last["mse"], rel=1e-5)


@pytest.mark.parametrize("solver", ["als", "proximal"])
def test_a_run_that_was_cut_ends_like_one_that_was_not(solver: str, tmp_path: Path):
    data = planted_kinds()
    settings = {**SETTINGS, "solver": solver, "initial_anchors": 6, "max_anchors": 8, "window": 2, "batch_size": 2048}

    def fitted(epochs: int, checkpoint: Path | None = None) -> NonparametricRecommender:
        return NonparametricRecommender(**{**settings, "epochs": epochs}).fit(data.history, data, checkpoint=checkpoint)

    fitted(3, tmp_path / "checkpoint")
    resumed, whole = fitted(6, tmp_path / "checkpoint"), fitted(6)
    assert resumed.history_["epochs"] == whole.history_["epochs"]
    for name, array in whole.learned_arrays().items():
        np.testing.assert_array_equal(resumed.learned_arrays()[name], array, err_msg=name)


def test_explanation_ends_with_the_last_epoch():
    model = NonparametricRecommender(**{**SETTINGS, "epochs": 4}).fit(two_blocks().history)
    assert [row["epoch"] for row in model.explain(2)["number of anchors"]] == [2, 3]


@pytest.mark.parametrize("solver", ["als", "proximal"])
def test_users_and_items_may_have_numbers_of_their_own(solver: str):
    data = planted_kinds()
    settings = {**SETTINGS, "solver": solver, "epochs": 4, "batch_size": 2048, "change": 0}
    model = NonparametricRecommender(initial_anchors=[3, 7], **settings).fit(data.history, data)
    assert (model.model_.users.num_active, model.model_.items.num_active) == (3, 7)
    assert {epoch["num_anchors"] for epoch in model.history_["epochs"]} == {10}
    few = NonparametricRecommender(initial_anchors=(200, 7), max_anchors=200, **settings).fit(data.history)
    assert (few.model_.users.num_active, few.model_.items.num_active) == (120, 7)


@pytest.mark.parametrize("solver", ["als", "proximal"])
def test_two_equal_numbers_are_as_good_as_one(solver: str):
    data = planted_kinds()
    settings = {**SETTINGS, "solver": solver, "epochs": 3, "batch_size": 2048, "change": 0}
    one = NonparametricRecommender(initial_anchors=5, **settings).fit(data.history, data)
    two = NonparametricRecommender(initial_anchors=[5, 5], **settings).fit(data.history, data)
    for name, array in one.learned_arrays().items():
        np.testing.assert_array_equal(two.learned_arrays()[name], array, err_msg=name)


def test_a_model_with_two_numbers_survives_saving(tmp_path: Path):
    data = planted_kinds()
    settings = {**SETTINGS, "epochs": 2, "change": 0}
    model = NonparametricRecommender(initial_anchors=[3, 5], **settings).fit(data.history, data)
    model.save(tmp_path / "model")
    loaded = NonparametricRecommender.load(tmp_path / "model")
    assert loaded.initial_anchors == [3, 5]
    assert loaded.evaluate(data) == model.evaluate(data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial_anchors": 0}, "initial_anchors must be an integer >= 1, got 0"),
        ({"initial_anchors": "44"}, "initial_anchors must be an integer >= 1, got '44'"),
        ({"initial_anchors": [4]}, r"initial_anchors must be one number or two, of users and of items, got \[4\]"),
        ({"initial_anchors": [4, 4, 4]}, r"initial_anchors must be one number or two, .* got \[4, 4, 4\]"),
        ({"initial_anchors": [4, 0]}, r"initial_anchors\[1\] must be an integer >= 1, got 0"),
        ({"initial_anchors": [4.5, 4]}, r"initial_anchors\[0\] must be an integer >= 1, got 4.5"),
        ({"initial_anchors": [4, 8], "max_anchors": 7}, "max_anchors must be an integer >= 8, got 7"),
        ({"initial_anchors": [4, 8], "change": 2}, "change must be 0 where initial_anchors are two numbers, got 2"),
    ],
)
def test_wrong_numbers_of_anchors_are_named(arguments: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        NonparametricRecommender(**{"change": 0, **arguments}).fit(two_blocks().history)
