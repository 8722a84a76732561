"""The door: planted answers, new users and items, features, and what a user may get wrong."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch
from sklearn.metrics import adjusted_mutual_info_score
from tiny_community import SETTINGS, fitted, two_tastes

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.datasets.planted_communities import load_planted_communities, true_communities
from gossamer.models.community import CommunityRecommender


def test_planted_communities_are_found_with_their_number() -> None:
    data = load_planted_communities(
        num_users=600, num_items=200, num_communities=4, items_per_user=20, mixing=0.3, seed=1
    )
    model = CommunityRecommender(embedding_dim=16, epochs=10, batch_size=100, learning_rate=0.01).fit(data)
    assert model.num_communities_ == 4
    found = model.memberships().argmax(axis=1)
    assert adjusted_mutual_info_score(true_communities(data.users), found) > 0.9
    rows = model.explain()["how communities formed"]
    assert rows[0]["in effect per user"] < 2 < rows[0]["in effect"]


def test_planted_communities_of_unequal_size_are_neither_merged_nor_divided() -> None:
    data = load_planted_communities(num_users=1_500, num_items=600, num_communities=8, seed=5)
    model = CommunityRecommender(embedding_dim=32, epochs=4, batch_size=100).fit(data)
    weights, truth = model.memberships(), true_communities(data.users)
    assert weights.shape[1] == 8
    assert adjusted_mutual_info_score(truth, weights.argmax(axis=1)) > 0.95
    np.testing.assert_allclose(np.sort(weights.sum(axis=0)), np.sort(np.bincount(truth)), rtol=0.1)


def test_users_without_history_are_known_by_their_features() -> None:
    data = two_tastes()
    nobody = data.keep(np.zeros(data.nnz, dtype=bool))[:2]
    answer = fitted(epochs=25).recommend(nobody, n=4)
    assert (answer.items[0] < 6).all(), "the first likes the first half, as the feature says"
    assert (answer.items[1] >= 6).all()


def test_new_items_are_known_by_their_features() -> None:
    data = two_tastes()
    pairs = Interactions.from_pairs(
        ["u0", "u0", "u1", "u1"],
        ["new x", "new y", "new x", "new y"],
        item_features=pl.DataFrame({"kinds": [["x"], ["y"]]}),
    )
    likely = fitted(epochs=25, id_dropout=0.3).predict(pairs, data)
    assert likely[0] > likely[1]
    assert likely[2] < likely[3]


def test_unknown_feature_values_and_missing_columns_are_said(caplog: pytest.LogCaptureFixture) -> None:
    data = two_tastes()[:2]
    with caplog.at_level(logging.WARNING):
        strange = replace(data, user_features=pl.DataFrame({"taste": ["c", "a"]}))
        assert np.isfinite(fitted().recommend(strange, n=2).scores).all()
        assert "values of column 'taste' are unknown, such as 'c'" in caplog.text
        assert "features must have age as in training, got none" in caplog.text


def test_predictions_use_the_training_history_where_none_is_given() -> None:
    data = two_tastes()
    np.testing.assert_allclose(fitted().predict(data), fitted().predict(data, data), rtol=1e-5)
    with pytest.raises(ValueError, match="history must have all users of data, got none for 'u0'; give an empty row"):
        fitted().predict(data, data[1:])


def test_validation_keeps_the_best_epoch_and_calibrates() -> None:
    data = two_tastes()
    is_last = np.zeros(data.nnz, dtype=bool)
    is_last[data.indptr[1:] - 1] = True
    held_out = HeldOut(data.keep(~is_last), data.keep(is_last))
    model = CommunityRecommender(**SETTINGS | {"patience": 2}).fit(held_out.history, held_out)
    assert {"ndcg@100", "fit", "communities"} <= set(model.history_["epochs"][0])
    assert 0 < model.calibration_[2] < 1


def test_any_module_may_embed_items() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Embedding(12, 2), torch.nn.Linear(2, 8))
    model = CommunityRecommender(**SETTINGS | {"epochs": 2}).fit(two_tastes(), item_embedding=module)
    assert np.linalg.matrix_rank(model.network_.neighbour_encoder.ids.weight.detach().numpy()) <= 3
    assert "network.neighbour_encoder.ids.weight" in model.learned_arrays()


@pytest.mark.parametrize(
    "settings",
    [
        {"aggregator": "max"},
        {"aggregator": "attention", "num_neighbours": 3},
        {"method": "o-gnn"},
        {"method": "diffpool-s", "distance": "network"},
        {"method": "bi-gnn", "community_part": "projection"},
        {"method": "features"},
        {"weighted": True, "half_life_days": 1.0, "num_neighbours": 3},
        {"loss": "logistic", "negatives": "popularity", "hidden_dim": 4},
        {"num_candidates": 5, "by_time": False, "community_start": "orthonormal"},
        {"community_start": "kmeans", "warmup_epochs": 1},
    ],
)
def test_every_setting_trains_and_answers(settings: dict) -> None:
    data = two_tastes()
    model = CommunityRecommender(**SETTINGS | settings | {"epochs": 2}).fit(data)
    assert np.isfinite(model.recommend(data[:3], n=2).scores).all()
    assert np.isfinite(model.predict(data)).all()
