"""Offsets make scores of users comparable, and calibration turns them into probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_community import SETTINGS, fitted, two_tastes

from gossamer.data.interactions import HeldOut
from gossamer.data.splits import split_items
from gossamer.models.community import CommunityRecommender, pairs
from gossamer.models.community.pairs import are_targets_new, calibrate, judge_new_items, user_offsets


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


def test_new_items_are_judged_among_new_items() -> None:
    split = split_items(two_tastes(num_items=24), valid_share=0.2, test_share=0.2, random_state=3)
    model = CommunityRecommender(**SETTINGS | {"epochs": 8, "id_dropout": 0.4}).fit(split.train, split.valid)
    assert "roc_auc" in model.history_["epochs"][0]
    assert are_targets_new(model, split.test)
    assert judge_new_items(model, split.test)["roc_auc"] > 0.7, "features tell whom a new item is for"


def test_probabilities_are_about_right_where_they_were_calibrated() -> None:
    model, data = fitted(), two_tastes()
    is_target = np.zeros(data.nnz, dtype=bool)
    is_target[data.indptr[:-1]] = True
    held_out = HeldOut(data.keep(~is_target), data.keep(is_target))
    slope, intercept, threshold = calibrate(model, data, held_out)
    assert slope > 0
    assert np.isfinite(intercept)
    assert 0 < threshold < 1
