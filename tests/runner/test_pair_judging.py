"""Any recommender is judged by the same pairs: rankers by their scores, predictors by their predictions."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.models.community import CommunityRecommender
from gossamer.models.linear import EASE, BiasedMF, Popularity
from gossamer.runner.measure import measure
from gossamer.runner.pair_judging import is_cold_start, pair_metrics, pair_scores, ranking_of
from gossamer.testing.right_answers import two_blocks


def test_scores_of_rankers_are_those_of_their_lists() -> None:
    held_out = two_blocks()
    model = EASE(regularization=1.0).fit(held_out.history)
    scores = pair_scores(model, held_out.target, held_out.history)
    expected = (held_out.history.matrix() @ model.weights_)[np.arange(24), held_out.target.indices]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_an_item_that_the_model_does_not_know_is_the_least_likely() -> None:
    held_out = two_blocks()
    model = Popularity().fit(held_out.history)
    pairs = Interactions.from_pairs(["user 0", "user 0"], ["a0", "new"], user_ids=held_out.history.users)
    known, new = pair_scores(model, pairs, held_out.history)
    assert new < known


def test_metrics_of_pairs_know_a_good_model_from_a_bad_one() -> None:
    held_out = two_blocks()
    good = pair_metrics(EASE(regularization=1.0).fit(held_out.history), held_out, held_out)
    bad = pair_metrics(Popularity().fit(held_out.history), held_out, held_out)
    assert good == {"accuracy": 1.0, "f1": 1.0, "roc_auc": 1.0, "pr_auc": 1.0}
    assert bad["roc_auc"] < 1
    with pytest.raises(ValueError, match="split must hold out validation data to choose the threshold"):
        pair_metrics(Popularity().fit(held_out.history), held_out, None)
    with pytest.raises(ValueError, match="the model must predict pairs or recommend, which object does not do"):
        pair_scores(object(), held_out.target, held_out.history)


def test_ratings_rank_items_where_a_model_only_predicts() -> None:
    held_out = two_blocks()
    model = BiasedMF(num_factors=2, epochs=3).fit(held_out.history)
    recommend = ranking_of(model)
    assert recommend is not None
    answer = recommend(held_out.history[:2], 3)
    for row in range(2):
        assert not set(answer.items[row].tolist()) & set(held_out.history[row : row + 1].indices.tolist())
    measured = measure(model, held_out, ["ndcg@5", "roc_auc"], held_out)
    assert set(measured.values) == {"ndcg@5", "roc_auc"}
    assert ranking_of(object()) is None


def test_a_model_with_a_threshold_of_its_own_needs_no_validation() -> None:
    held_out = two_blocks()
    model = CommunityRecommender(embedding_dim=4, num_communities=2, epochs=10, batch_size=8, learning_rate=0.05)
    found = measure(model.fit(held_out.history), held_out, ["f1", "roc_auc", "communities_per_user"]).values
    assert found["roc_auc"] > 0.9
    assert 1 <= found["communities_per_user"] <= 2


def test_a_cold_start_is_recognised() -> None:
    held_out = two_blocks()
    assert not is_cold_start(held_out)
    is_new = np.isin(held_out.history.indices, [0, 6])
    cold = HeldOut(held_out.history.keep(~is_new), held_out.history.keep(is_new))
    assert is_cold_start(cold)
