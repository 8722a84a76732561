"""Offsets make scores of users comparable, and calibration turns them into probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_community import SETTINGS, fitted, two_tastes

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.splits import split_items
from gossamer.models.community import CommunityRecommender, pairs
from gossamer.models.community.pairs import are_targets_new, calibrate, few_users, judge_new_items, user_offsets


def test_offset_is_the_log_mean_over_what_the_user_does_not_have() -> None:
    model, data = fitted(), two_tastes()
    vectors = model._vectors(model.embed(data[:2]))
    offsets = user_offsets(model, vectors, data[:2])
    scores = (vectors @ model.item_vectors_.T + model.item_bias_).double()
    for user in range(2):
        others = np.setdiff1d(np.arange(12), data[user : user + 1].indices)
        expected = torch.logsumexp(scores[user, others], dim=0) - np.log(len(others))
        assert offsets[user] == pytest.approx(float(expected), abs=1e-5)


def test_many_items_are_represented_by_some(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = fitted(), two_tastes()
    monkeypatch.setattr(pairs, "MOST_COMPARED", 5)
    offsets = user_offsets(model, model._vectors(model.embed(data)), data)
    assert np.isfinite(offsets).all()


def test_features_tell_whom_a_new_item_is_for() -> None:
    data = two_tastes()
    split = split_items(data, valid_share=0.2, test_share=0.2, random_state=3)
    model = CommunityRecommender(**SETTINGS | {"epochs": 8, "id_dropout": 0.4}).fit(split.train, split.valid)
    assert "roc_auc" in model.history_["epochs"][0], "the epoch is chosen among new items, too"
    assert are_targets_new(model, split.test)
    assert judge_new_items(model, split.test)["roc_auc"] > 0.5
    # A user's kind of item scores higher than the other kind, whether or not the user took just this one.
    new = np.flatnonzero(model.items_.find(data.items.ids) < 0)
    pairs_of = Interactions.from_pairs(
        np.repeat(list(data.users), len(new)),
        np.tile([data.items[int(item)] for item in new], len(data)),
        user_ids=data.users,
        item_ids=data.items,
        user_features=data.user_features,
        item_features=data.item_features,
    )
    scores = model.score_pairs(pairs_of, split.test.history).reshape(len(data), len(new))
    is_own = (new >= 6) == (np.arange(len(data)) % 2 == 1)[:, None]
    assert (np.where(is_own, scores, np.inf).min(1) > np.where(is_own, -np.inf, scores).max(1)).mean() > 0.95


def test_a_history_without_features_leaves_those_of_the_pairs() -> None:
    model, data = fitted(), two_tastes()
    asked = data[::-1]
    bare = replace(data, user_features=None)
    np.testing.assert_allclose(model.predict(asked, bare), model.predict(asked, data))
    unknown = model.predict(replace(asked, user_features=None), bare)
    assert np.abs(model.predict(asked, data) - unknown).max() > 1e-3, "features matter here"


def test_probabilities_are_about_right_where_they_were_calibrated() -> None:
    model, data = fitted(), two_tastes()
    is_target = np.zeros(data.nnz, dtype=bool)
    is_target[data.indptr[:-1]] = True
    held_out = HeldOut(data.keep(~is_target), data.keep(is_target))
    slope, intercept, threshold = calibrate(model, data, held_out)
    assert slope > 0
    assert np.isfinite(intercept)
    assert 0 < threshold < 1


def test_users_who_have_everything_leave_nothing_to_calibrate_on(caplog: pytest.LogCaptureFixture) -> None:
    users, items = np.repeat(np.arange(12), 4), np.tile(np.arange(4), 12)
    data = Interactions.from_pairs(users, items)
    model = CommunityRecommender(**SETTINGS | {"epochs": 1}).fit(data)
    assert "calibration must have items that users lack, got none" in caplog.text
    assert model.calibration_ == (1.0, pytest.approx(-np.log(10)), 0.5)
    probs = model.predict(data)
    assert ((probs > 0) & (probs < 1)).all()


def test_an_epoch_is_judged_by_few_users_from_all_over(monkeypatch: pytest.MonkeyPatch) -> None:
    data = two_tastes()
    is_target = np.arange(data.nnz) >= data.indptr[10]  # the first ten users have no target
    held_out = HeldOut(data, data.keep(is_target))
    assert few_users(held_out).history.users.ids.to_list() == [f"u{user}" for user in range(10, 40)]
    monkeypatch.setattr(pairs, "MOST_VALIDATED", 3)
    assert few_users(held_out).target.users.ids.to_list() == ["u10", "u24", "u39"]
