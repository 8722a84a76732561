"""Pairs: negatives that are none of the user's, and areas and F1 equal to scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as theirs

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.pairs import (
    best_threshold,
    calibration_curve,
    judge_pairs,
    pr_auc,
    precision_recall_curve,
    roc_auc,
    sample_pairs,
)


def held_out(num_items: int, history: list[list[int]], target: list[list[int]]) -> HeldOut:
    users, items = Vocabulary.numbered(len(history)), Vocabulary.numbered(num_items)

    def of(rows: list[list[int]]) -> Interactions:
        pairs = [(user, item) for user, row in enumerate(rows) for item in row]
        return Interactions.from_pairs(
            [user for user, _ in pairs], [item for _, item in pairs], user_ids=users, item_ids=items
        )

    return HeldOut(of(history), of(target))


def test_negatives_are_new_to_the_user_and_ten_for_each_target() -> None:
    data = held_out(100, [[0, 1], [5], []], [[2, 3], [], [7]])
    pairs = sample_pairs(data, 10, random_state=1)
    users, items = pairs.data.pairs()
    for user in range(3):
        negatives = items[(users == user) & ~pairs.is_target]
        taken = {*data.history[user : user + 1].indices.tolist(), *data.target[user : user + 1].indices.tolist()}
        assert len(negatives) == len(set(negatives.tolist())) == 10 * int(data.target.user_counts[user])
        assert not taken & set(negatives.tolist())
    assert items[pairs.is_target].tolist() == [2, 3, 7]
    again = sample_pairs(data, 10, random_state=1)
    assert (
        again.data.fingerprint()
        == pairs.data.fingerprint()
        != sample_pairs(data, 10, random_state=2).data.fingerprint()
    )


def test_negatives_of_a_cold_start_are_as_new_as_targets() -> None:
    data = held_out(40, [[0, 1], [5]], [[2], [3]])
    pairs = sample_pairs(data, 10, among_new=True)
    _, items = pairs.data.pairs()
    assert not {0, 1, 5} & set(items.tolist())
    assert (~pairs.is_target).sum() == 20


def test_who_has_nearly_everything_gets_what_is_left() -> None:
    pairs = sample_pairs(held_out(8, [[0, 1, 2], [0]], [[3, 4], [1]]), 10)
    users, items = pairs.data.pairs()
    assert items[(users == 0) & ~pairs.is_target].tolist() == [5, 6, 7]
    assert items[(users == 1) & ~pairs.is_target].tolist() == [2, 3, 4, 5, 6, 7]
    with pytest.raises(ValueError, match="held_out must have at least one target interaction, got 0"):
        sample_pairs(held_out(3, [[0]], [[]]))


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), levels=st.integers(1, 12))
def test_areas_are_those_of_scikit_learn_with_ties(seed: int, levels: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(levels, size=30).astype(float)
    is_target = generator.random(30) < 0.3
    is_target[:2] = [True, False]
    assert roc_auc(scores, is_target) == pytest.approx(theirs.roc_auc_score(is_target, scores))
    assert pr_auc(scores, is_target) == pytest.approx(theirs.average_precision_score(is_target, scores))
    threshold = best_threshold(scores, is_target)
    f1s = [theirs.f1_score(is_target, scores >= value) for value in np.unique(scores)]
    judged = judge_pairs(scores, is_target, threshold)
    assert judged["f1"] == pytest.approx(max(f1s))
    assert judged["accuracy"] == pytest.approx(theirs.accuracy_score(is_target, scores >= threshold))
    curve = precision_recall_curve(scores, is_target)
    assert curve[-1][0] == 1.0
    assert all(0 < recall <= 1 and 0 < precision <= 1 for recall, precision in curve)


def test_probabilities_that_are_right_lie_on_the_diagonal() -> None:
    probs = np.random.default_rng(0).random(20_000)
    is_target = np.random.default_rng(1).random(20_000) < probs
    for said, found in calibration_curve(probs, is_target):
        assert said == pytest.approx(found, abs=0.04)


def test_scores_that_cannot_be_judged_are_named() -> None:
    with pytest.raises(ValueError, match="scores must not be NaN, got 1 of them"):
        roc_auc(np.array([np.nan, 1.0]), np.array([True, False]))
    with pytest.raises(ValueError, match="is_target must have targets and others, got 2 of 2"):
        pr_auc(np.array([0.0, 1.0]), np.array([True, True]))
