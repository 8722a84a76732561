"""AnchorRecommender: every method through one door, sizes that hold, artifacts, and MovieLens' targets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer import datasets
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.splits import split_random
from gossamer.models.embeddings.ratings.recommender import AnchorRecommender
from gossamer.models.embeddings.tables import TABLES
from gossamer.testing.planted import planted_anchors


def planted_split(noise: float = 0.2) -> tuple[Interactions, HeldOut]:
    split = split_random(planted_anchors(num_users=120, num_items=90, noise=noise).data, fractions=[0.8, 0.2])
    return split.train, split.test


def small(**changed: object) -> AnchorRecommender:
    arguments = {"embedding_dim": 4, "user_anchors": 6, "item_anchors": 6, "charge": 0.1, "epochs": 10}
    return AnchorRecommender(**(arguments | changed))  # type: ignore[arg-type]


def test_both_solvers_learn_more_than_the_mean_and_als_more_than_gradients():
    train, test = planted_split()
    assert test.target.rating is not None
    variance = float(np.var(test.target.rating))
    alternating = small().fit(train).evaluate(test)["mse"]
    proximal = small(solver="proximal", epochs=10, learning_rate=0.1, batch_size=256, l1=1e-3).fit(train)
    assert alternating < proximal.evaluate(test)["mse"] < 0.9 * variance
    assert proximal.num_values() < 1 + 6 * 8 + 6 * 210


@pytest.mark.parametrize("method", sorted(set(TABLES) - {"ant"}))
def test_every_rival_trains_stores_and_returns(method: str, tmp_path: Path):
    train, test = planted_split()
    size = {} if method == "dense" else {"ratio": 2.0}
    if method == "tensor-train":
        size = {"ratio": 1.2}
    model = small(
        method=method, solver="proximal", embedding_dim=8, epochs=2, learning_rate=0.05, batch_size=256, **size
    ).fit(train, test)
    assert np.isfinite(model.evaluate(test)["mse"])
    assert model.num_values() <= 1.2 * 210 * 8  # int8 has a scale per row beside its small numbers
    model.save(tmp_path / "model")
    loaded = AnchorRecommender.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(test.target), model.predict(test.target), rtol=1e-5)
    assert loaded.num_bytes() == model.num_bytes()


@pytest.mark.parametrize("biases", [False, True])
def test_a_budget_holds_and_biases_are_counted(biases: bool):
    train, _ = planted_split()
    model = small(budget=420, biases=biases).fit(train)
    assert 300 < model.num_values() <= 420
    assert model.num_values() == sum(a.size for a in model.learned_arrays().values() if a.dtype.kind == "f")
    assert model.num_bytes() > 4 * model.num_values()
    rival = small(method="lowrank", solver="proximal", epochs=1, biases=biases, budget=620).fit(train)
    assert rival.num_values() <= 620


def test_validation_is_measured_after_every_sweep_and_the_last_is_kept():
    train, test = planted_split()
    model = small(epochs=4).fit(train, test)
    assert isinstance(model.history_, dict)
    epochs = model.history_["epochs"]
    assert isinstance(epochs, list)
    assert len(epochs) == 4
    assert epochs[-1]["mse"] == pytest.approx(model.evaluate(test)["mse"])  # type: ignore[index, call-overload]


def test_an_interrupted_run_ends_with_the_same_model(tmp_path: Path):
    train, _ = planted_split()
    whole = small(epochs=5).fit(train)
    small(epochs=2).fit(train, checkpoint=tmp_path / "run")
    resumed = small(epochs=5).fit(train, checkpoint=tmp_path / "run")
    for name, array in whole.learned_arrays().items():
        np.testing.assert_array_equal(array, resumed.learned_arrays()[name])


def test_strangers_get_what_is_known():
    train, _ = planted_split()
    model = small(biases=True).fit(train)
    pairs = Interactions.from_pairs([1000, 1000], [1000, train.items[0]])
    expected = model.model_.rate(np.array([-1, -1]), np.array([-1, 0]))
    np.testing.assert_allclose(model.predict(pairs), expected)
    assert model.predict(pairs)[0] == pytest.approx(model.model_.mean)


def test_anchors_are_explained():
    train, _ = planted_split()
    tables = small().fit(train).explain(3)
    assert set(tables) == {"liked by most", "liked by few", "items of each anchor"}
    assert all(len(rows) <= 3 for rows in tables.values())


def test_bad_input_is_named():
    train, _ = planted_split()
    with pytest.raises(ValueError, match="solver must be 'proximal' for the method 'lowrank', got 'als'"):
        small(method="lowrank", ratio=2).fit(train)
    with pytest.raises(ValueError, match="budget must be None where ratio is 2, got 100"):
        small(solver="proximal", method="lowrank", ratio=2, budget=100).fit(train)
    with pytest.raises(ValueError, match="budget must be an integer >= 212, got 210"):
        small(solver="proximal", method="lowrank", budget=210, biases=True).fit(train)
    with pytest.raises(ValueError, match="table_options must be None or a dict of the table's options, got 3"):
        small(table_options=3).fit(train)
    with pytest.raises(ValueError, match="data must have at least one interaction with a rating, got none"):
        small().fit(Interactions.from_pairs([1], [2]))


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("budget", "worst"), [(59_400, 0.72), (29_200, 0.735), (10_800, 0.795)])
def test_movielens_targets(budget: int, worst: float):
    split = split_random(datasets.load("ml-1m"), fractions=[0.8, 0.1, 0.1], random_state=0)
    size = {"embedding_dim": 8, "user_anchors": 15, "item_anchors": 15} if budget < 20_000 else {}
    model = AnchorRecommender(budget=budget, charge=0.2, **size).fit(split.train)  # type: ignore[arg-type]
    assert model.num_values() <= budget
    assert model.evaluate(split.test)["mse"] <= worst
