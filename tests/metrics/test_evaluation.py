"""Evaluation in batches against the metrics on everything at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gossamer.core.protocols import Recommendations
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.evaluation import RankingScores, evaluate_ranking, evaluate_ratings, paired_difference
from gossamer.metrics.ranking import parse_metric

METRICS = ["recall@3", "ndcg@5", "precision@2", "map@5", "mrr@5", "hit_rate@1", "coverage@2"]


def held_out(num_users: int = 9, num_items: int = 7) -> HeldOut:
    """Random history and target; only user 0 has no target."""
    rng = np.random.default_rng(0)
    role = rng.integers(0, 3, size=(num_users, num_items))
    role[:, 0] = 2
    role[0][role[0] == 2] = 1
    users, items = Vocabulary.numbered(num_users), Vocabulary.numbered(num_items)

    def interactions(chosen: np.ndarray) -> Interactions:
        rows, columns = np.nonzero(chosen)
        rating = (rows + columns) % 5 + 1.0
        return Interactions.from_pairs(rows, columns, rating, user_ids=users, item_ids=items)

    return HeldOut(interactions(role == 1), interactions(role == 2))


def recommend_unseen(history: Interactions, n: int) -> Recommendations:
    """List unseen items in order of their index, shifted by the user's id."""
    items = np.full((len(history), n), -1, dtype=np.int32)
    for row, seen in enumerate(history.matrix().toarray() > 0):
        unseen = np.roll(np.flatnonzero(~seen), int(history.users[row]))[:n]
        items[row, : len(unseen)] = unseen
    return Recommendations(items, np.zeros(items.shape, dtype=np.float32))


@pytest.mark.parametrize("batch_size", [None, 1, 4, 100])
def test_batches_change_nothing(batch_size):
    data = held_out()
    scores = evaluate_ranking(recommend_unseen, data, METRICS, batch_size=batch_size)
    ranked = recommend_unseen(data.history, 5).items
    for name in METRICS:
        expected = parse_metric(name)(ranked, data.target.matrix())
        found = scores.overall if name.startswith("coverage") else scores.per_user
        np.testing.assert_array_equal(found[name], expected)
    assert list(scores.mean()) == METRICS
    assert all(np.isnan(values[0]) and not np.isnan(values[1:]).any() for values in scores.per_user.values())


def test_no_call_sees_more_than_batch_size_users():
    sizes = []

    def recommend(history: Interactions, n: int) -> Recommendations:
        sizes.append(len(history))
        return recommend_unseen(history, n)

    evaluate_ranking(recommend, held_out(), ["recall@3"], batch_size=4)
    assert sizes == [4, 4, 1]


def test_mean_error_and_interval_are_over_users_with_targets():
    values = np.array([0.1, np.nan, 0.5, 0.9, 0.2])
    scores = RankingScores({"ndcg@5": values}, {"coverage@5": 0.3})
    defined = values[~np.isnan(values)]
    assert scores.mean() == {"ndcg@5": pytest.approx(defined.mean()), "coverage@5": 0.3}
    assert scores.standard_error() == {"ndcg@5": pytest.approx(stats.sem(defined))}
    expected = stats.norm.interval(0.9, defined.mean(), stats.sem(defined))
    assert scores.interval(0.9)["ndcg@5"] == pytest.approx(expected)


def test_one_user_has_no_standard_error_and_no_user_no_mean():
    scores = RankingScores({"a": np.array([0.5]), "b": np.array([np.nan])}, {})
    assert scores.mean()["a"] == 0.5
    assert math.isnan(scores.standard_error()["a"])
    assert math.isnan(scores.mean()["b"])


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=20))
def test_paired_difference_is_that_of_the_differences(pairs):
    a, b = np.array(pairs).T
    difference = paired_difference(np.append(a, np.nan), np.append(b, 0.5))
    assert difference.mean == pytest.approx(a.mean() - b.mean(), abs=1e-12)
    assert difference.standard_error == pytest.approx(stats.sem(a - b), abs=1e-12)


def test_ratings_are_compared_pair_by_pair():
    data = held_out()
    result = evaluate_ratings(lambda target: np.full(target.nnz, 3.0), data)
    truth = data.target.rating
    assert truth is not None
    assert result == {"mse": pytest.approx(((truth - 3) ** 2).mean()), "mae": pytest.approx(abs(truth - 3).mean())}


def too_short(history: Interactions, n: int) -> Recommendations:
    return recommend_unseen(history, n - 1)


def without_target() -> HeldOut:
    data = held_out()
    return HeldOut(data.history, data.target.keep(np.zeros(data.target.nnz, dtype=bool)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate_ranking(recommend_unseen, held_out(), []), "metrics must be different names"),
        (lambda: evaluate_ranking(recommend_unseen, held_out(), "ndcg@5"), "metrics must be .* got 'ndcg@5'"),
        (lambda: evaluate_ranking(recommend_unseen, held_out(), ["mrr@5"] * 2), "metrics must be different names"),
        (lambda: evaluate_ranking(recommend_unseen, held_out(), ["mrr"]), "metric must be one of"),
        (lambda: evaluate_ranking(recommend_unseen, held_out(), ["mrr@5"], 0), "batch_size must be an integer >= 1"),
        (lambda: evaluate_ranking(too_short, held_out(), ["mrr@5"]), r"return 5 items .* for 9 users, got \(9, 4\)"),
        (lambda: evaluate_ranking(recommend_unseen, without_target(), ["mrr@5"]), "at least one target interaction"),
        (lambda: evaluate_ratings(lambda target: np.zeros(target.nnz), without_target()), "with a rating, got none"),
        (lambda: evaluate_ratings(lambda target: np.zeros(1), held_out()), "as long as truth"),
        (lambda: paired_difference(np.zeros(2), np.zeros(3)), r"one value per user, as b has, got \(2,\) and \(3,\)"),
        (lambda: RankingScores({}, {}).interval(1.0), "level must be a finite number > 0 and < 1, got 1.0"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_mistakes_are_answered_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
