"""What is found of communities: numbers, agreement with what was planted, and what the page shows."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.interactions import HeldOut
from gossamer.datasets.planted_communities import load_planted_communities
from gossamer.metrics.pairs import calibration_curve, precision_recall_curve, sample_pairs
from gossamer.models.community import CommunityRecommender
from gossamer.models.linear import Popularity
from gossamer.report.communities import communities_section
from gossamer.runner.community_findings import community_metrics, find_communities
from gossamer.runner.pair_judging import NUM_NEGATIVES, SEED, pair_scores


@pytest.fixture(scope="module")
def planted() -> HeldOut:
    data = load_planted_communities(num_users=120, num_items=40, num_communities=3, items_per_user=12, mixing=0.1)
    is_target = np.zeros(data.nnz, dtype=bool)
    is_target[data.indptr[:-1]] = True
    return HeldOut(data.keep(~is_target), data.keep(is_target))


@pytest.fixture(scope="module")
def model(planted: HeldOut) -> CommunityRecommender:
    settings = {"embedding_dim": 8, "num_communities": 3, "epochs": 30, "batch_size": 30, "learning_rate": 0.02}
    return CommunityRecommender(**settings).fit(planted.history)


def test_planted_communities_are_recognised(planted: HeldOut, model: CommunityRecommender) -> None:
    found = community_metrics(model, planted, ["ami"])
    assert found["ami"] > 0.9
    assert found["communities"] == 3
    assert 1 <= found["communities_per_user"] <= found["communities_in_effect"] <= 3.001
    nobody = community_metrics(Popularity().fit(planted.history), planted, [])
    assert nobody == {"communities": 1.0, "communities_in_effect": 1.0, "communities_per_user": 1.0}


def test_the_page_shows_what_was_found(planted: HeldOut, model: CommunityRecommender) -> None:
    found = find_communities(model, planted)
    assert found["space"].shape == (3, 8)
    assert found["sizes"].sum() == 120
    section = communities_section({"bihgnn": found})
    assert section is not None
    assert [type(block).__name__ for block in section.blocks] == ["KeyNumbers", "Figure", "Table", "Figure"]
    assert find_communities(Popularity().fit(planted.history), planted) == {}
    assert find_communities(model, None) == {}


def test_curves_of_new_items_have_the_negatives_of_the_metrics(planted: HeldOut, model: CommunityRecommender) -> None:
    is_new = planted.history.indices >= 30
    target = planted.history.keep(is_new)
    held_out = HeldOut(planted.history.keep(~is_new), target)
    pairs = sample_pairs(held_out, NUM_NEGATIVES, among_new=True, random_state=SEED)
    scores = pair_scores(model, pairs.data, held_out.history)
    found = find_communities(model, held_out)
    assert found["precision recall"] == precision_recall_curve(scores, pairs.is_target)
    assert found["calibration"] == calibration_curve(scores, pairs.is_target)
