from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.models.linear import BiasedMF
from gossamer.testing.contracts import two_blocks


def planted(num_users: int = 60, num_items: int = 40, seed: int = 0) -> HeldOut:
    """Ratings that are mean + biases + one factor, with little noise; a fifth is held out."""
    generator = np.random.default_rng(seed)
    user_bias, item_bias = generator.normal(0, 0.5, num_users), generator.normal(0, 0.5, num_items)
    user_factor, item_factor = generator.normal(0, 0.7, num_users), generator.normal(0, 0.7, num_items)
    truth = 3 + user_bias[:, None] + item_bias + np.outer(user_factor, item_factor)
    truth += generator.normal(0, 0.05, truth.shape)
    users, items = np.divmod(np.arange(truth.size), num_items)
    whole = Interactions.from_pairs(users, items, rating=truth.ravel())
    held = generator.random(whole.nnz) < 0.2
    return HeldOut(whole.keep(~held), whole.keep(held))


def test_planted_ratings_are_found_and_biases_alone_are_not_enough():
    data = planted()
    arguments = {"regularization": 0.002, "bias_regularization": 0.1, "epochs": 40, "patience": None}
    whole = BiasedMF(num_factors=1, **arguments).fit(data.history).evaluate(data)
    biases = BiasedMF(num_factors=0, **arguments).fit(data.history).evaluate(data)
    assert set(whole) == {"mse", "mae"}
    assert whole["mse"] < 0.01
    assert biases["mse"] > 0.1


def test_bias_only_is_the_ridge_on_two_indicators():
    """With no factors the minimum is unique: the dense ridge regression on user and item indicators."""
    data = planted(8, 6).history
    model = BiasedMF(num_factors=0, bias_regularization=2.0, epochs=200, patience=None).fit(data)
    users, items = data.pairs()
    design = np.hstack([np.eye(8)[users], np.eye(6)[items]])
    centred = data.rating.astype(float) - data.rating.mean()
    expected = np.linalg.solve(design.T @ design + 2 * np.eye(14), design.T @ centred)
    np.testing.assert_allclose(model.user_rows_[:, 0], expected[:8], atol=1e-4)
    np.testing.assert_allclose(model.item_rows_[:, 0], expected[8:], atol=1e-4)


def test_strangers_get_the_mean_and_the_bias_that_is_known():
    model = BiasedMF(num_factors=2, epochs=3).fit(two_blocks().history)
    pairs = Interactions.from_pairs(["user 1", "nobody", "nobody"], ["nothing", "b2", "nothing"])
    known = dict(zip(zip(*(part.tolist() for part in pairs.pairs()), strict=True), model.predict(pairs), strict=True))
    user, item = model.users_.index_of(["user 1"])[0], model.items_.index_of(["b2"])[0]
    assert known[0, 0] == pytest.approx(model.mean_ + model.user_rows_[user, 0])
    assert known[1, 1] == pytest.approx(model.mean_ + model.item_rows_[item, 0])
    assert known[1, 0] == pytest.approx(model.mean_)


def test_predictions_follow_ids_not_positions():
    history = two_blocks().history
    model = BiasedMF(num_factors=2, epochs=3).fit(history)
    turned = history[np.arange(len(history))[::-1]]
    lengths = history.user_counts
    expected = np.split(model.predict(history), np.cumsum(lengths)[:-1])[::-1]
    np.testing.assert_allclose(model.predict(turned), np.concatenate(expected), rtol=1e-6)


def test_values_count_mean_biases_and_factors():
    model = BiasedMF(num_factors=2, epochs=1).fit(two_blocks().history)
    assert model.num_values() == 1 + (24 + 12) * 3


def test_validation_keeps_the_best_epoch_and_a_checkpoint_resumes(tmp_path: Path):
    data = planted()
    model = BiasedMF(num_factors=4, regularization=1e-4, epochs=40, patience=3).fit(data.history, data)
    errors = [epoch["mse"] for epoch in model.history_["epochs"]]
    assert model.evaluate(data)["mse"] == pytest.approx(min(errors), rel=1e-6)
    BiasedMF(epochs=2).fit(data.history, checkpoint=tmp_path / "checkpoint")
    resumed = BiasedMF(epochs=4).fit(data.history, checkpoint=tmp_path / "checkpoint")
    np.testing.assert_array_equal(resumed.user_rows_, BiasedMF(epochs=4).fit(data.history).user_rows_)


def test_data_without_ratings_are_refused():
    with pytest.raises(ValueError, match=r"^data must have at least one interaction with a rating, got none$"):
        BiasedMF().fit(Interactions.from_pairs(["a"], ["x"]))


def test_explanation_orders_items_by_bias():
    tables = BiasedMF(num_factors=0, epochs=3).fit(planted().history).explain(3)
    highest = [row["above the mean"] for row in tables["liked by most"]]
    lowest = [row["above the mean"] for row in tables["liked by few"]]
    assert highest == sorted(highest, reverse=True)
    assert lowest == sorted(lowest)
    assert highest[-1] > lowest[-1]
