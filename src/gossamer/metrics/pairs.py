"""Judging by pairs: targets among negatives, as a classifier is judged; which negatives decides the numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.data.interactions import HeldOut, Interactions

PAIR_METRICS = ("accuracy", "f1", "roc_auc", "pr_auc")


@dataclass(frozen=True)
class LabelledPairs:
    """Pairs of user and item, and which of them are targets."""

    data: Interactions
    is_target: Bool[np.ndarray, " nnz"]


def sample_pairs(
    held_out: HeldOut, num_negatives: int = 10, *, among_new: bool = False, random_state: RandomState = 0
) -> LabelledPairs:
    """Return the targets and, for each, `num_negatives` items drawn uniformly that are neither in history nor target.

    With `among_new`, negatives are items that nobody's history has: those that are as new as targets in a cold start.
    A user's negatives are different from each other, as pairs are; a user with fewer items left gets those. Equal
    held-out data and seeds give equal pairs, whatever the model.
    """
    check_int("num_negatives", num_negatives, at_least=1)
    if held_out.target.nnz == 0:
        raise ValueError("held_out must have at least one target interaction, got 0")
    generator = numpy_generator(random_state)
    num_users, num_items = held_out.target.shape
    users, items = held_out.target.pairs()
    taken = np.concatenate([_keys(held_out.history), _keys(held_out.target)])
    if among_new:
        old = np.flatnonzero(held_out.history.item_counts)
        taken = np.concatenate([taken, (np.arange(num_users)[:, None] * num_items + old).ravel()])
    taken = np.unique(taken)
    room = num_items - np.bincount(taken // num_items, minlength=num_users)
    wanted = np.minimum(num_negatives * held_out.target.user_counts, room)
    found = np.empty(0, dtype=np.int64)
    missing = wanted.copy()
    while missing.any():
        # A user who has nearly everything is read through; others are drawn until there are enough.
        is_small = missing * 2 > room
        small = [
            user * num_items + generator.permutation(_left_to(taken, user, num_items))[: wanted[user]]
            for user in np.flatnonzero(is_small).tolist()
        ]
        if small:
            found = found[~is_small[found // num_items]]
        drawing = np.where(is_small, 0, missing)
        drawn = np.repeat(np.arange(num_users), drawing) * num_items + generator.integers(num_items, size=drawing.sum())
        drawn = drawn[~_contains(taken, drawn)]
        found = _merge(found, np.unique(np.concatenate([drawn, *small])))
        missing = wanted - np.bincount(found // num_items, minlength=num_users)
    keys = np.concatenate([users.astype(np.int64) * num_items + items, found])
    order = np.argsort(keys, kind="stable")
    is_target = order < len(users)
    keys = keys[order]
    data = Interactions(
        held_out.target.users,
        held_out.target.items,
        np.searchsorted(keys, np.arange(num_users + 1) * num_items),
        (keys % num_items).astype(np.int32),
        user_features=held_out.history.user_features,
        item_features=held_out.history.item_features,
    )
    return LabelledPairs(data, is_target)


def roc_auc(scores: Float[np.ndarray, " n"], is_target: Bool[np.ndarray, " n"]) -> float:
    """Return P(a target scores above a negative), ties counting half: the area under the ROC curve.

    >>> roc_auc(np.array([3.0, 1.0, 2.0]), np.array([True, False, True]))
    1.0
    """
    num_targets, num_negatives = _counts(scores, is_target)
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    sizes = np.diff(np.concatenate([starts, [len(ranked)]]))
    ranks = np.repeat(starts + (sizes + 1) / 2, sizes)
    above = ranks[is_target[order]].sum() - num_targets * (num_targets + 1) / 2
    return float(above / (num_targets * num_negatives))


def pr_auc(scores: Float[np.ndarray, " n"], is_target: Bool[np.ndarray, " n"]) -> float:
    """Return the average precision Σ (recall step · precision), ties together: the area under the PR curve.

    >>> pr_auc(np.array([3.0, 2.0, 1.0]), np.array([True, False, True])).__round__(3)
    0.833
    """
    num_targets, _ = _counts(scores, is_target)
    hits, taken, _ = _by_threshold(scores, is_target)
    steps = np.diff(np.concatenate([[0], hits]))
    return float((steps * (hits / taken)).sum() / num_targets)


def best_threshold(scores: Float[np.ndarray, " n"], is_target: Bool[np.ndarray, " n"]) -> float:
    """Return the score from which on calling pairs targets has the highest F1.

    >>> best_threshold(np.array([3.0, 2.0, 1.0]), np.array([True, True, False]))
    2.0
    """
    num_targets, _ = _counts(scores, is_target)
    hits, taken, values = _by_threshold(scores, is_target)
    return float(values[np.argmax(2 * hits / (taken + num_targets))])


def judge_pairs(
    scores: Float[np.ndarray, " n"], is_target: Bool[np.ndarray, " n"], threshold: float
) -> dict[str, float]:
    """Return accuracy and F1 of `scores >= threshold`, and the areas, which need no threshold."""
    called = scores >= threshold
    hits = np.count_nonzero(called & is_target)
    return {
        "accuracy": float(np.mean(called == is_target)),
        "f1": float(2 * hits / max(1, called.sum() + is_target.sum())),
        "roc_auc": roc_auc(scores, is_target),
        "pr_auc": pr_auc(scores, is_target),
    }


def precision_recall_curve(
    scores: Float[np.ndarray, " n"], is_target: Bool[np.ndarray, " n"], num_points: int = 100
) -> list[tuple[float, float]]:
    """Return at most `num_points` pairs (recall, precision) from the highest threshold to the lowest."""
    num_targets, _ = _counts(scores, is_target)
    hits, taken, _ = _by_threshold(scores, is_target)
    first = int(np.searchsorted(hits, 1))
    wanted = np.linspace(hits[first], num_targets, min(num_points, num_targets))
    places = np.unique(np.searchsorted(hits, np.floor(wanted)))
    return [(float(hits[place] / num_targets), float(hits[place] / taken[place])) for place in places]


def calibration_curve(
    probs: Float[np.ndarray, " n"], is_target: Bool[np.ndarray, " n"], num_bins: int = 10
) -> list[tuple[float, float]]:
    """Return (mean probability, share of targets) of equally many pairs at a time, from the least likely up."""
    _counts(probs, is_target)
    order = np.argsort(probs, kind="stable")
    return [
        (float(probs[part].mean()), float(is_target[part].mean()))
        for part in np.array_split(order, min(num_bins, len(order)))
    ]


def _by_threshold(scores: np.ndarray, is_target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return hits, number called and value at every different score, from the highest down."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    ends = np.flatnonzero(np.concatenate([ranked[1:] != ranked[:-1], [True]]))
    return np.cumsum(is_target[order])[ends], ends + 1, ranked[ends]


def _counts(scores: np.ndarray, is_target: np.ndarray) -> tuple[int, int]:
    if scores.shape != is_target.shape:
        raise ValueError(f"scores must be one per pair {is_target.shape}, got {scores.shape}")
    if np.isnan(scores).any():
        raise ValueError(f"scores must not be NaN, got {np.count_nonzero(np.isnan(scores))} of them")
    num_targets = int(np.count_nonzero(is_target))
    if num_targets in (0, len(scores)):
        raise ValueError(f"is_target must have targets and others, got {num_targets} of {len(scores)}")
    return num_targets, len(scores) - num_targets


def _keys(data: Interactions) -> np.ndarray:
    users, items = data.pairs()
    keys: np.ndarray = users.astype(np.int64) * data.num_items + items
    return keys


def _merge(ordered: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the union of two sets in ascending order; the later rounds bring a few keys to millions."""
    if not len(ordered):
        return others
    both = np.concatenate([ordered, others[~_contains(ordered, others)]])
    both.sort(kind="stable")  # which takes two ordered runs for what they are
    return both


def _contains(ordered: np.ndarray, keys: np.ndarray) -> np.ndarray:
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    found: np.ndarray = ordered[places] == keys
    return found


def _left_to(taken: np.ndarray, user: int, num_items: int) -> np.ndarray:
    """Return the items that a user does not have."""
    begin, end = np.searchsorted(taken, [user * num_items, (user + 1) * num_items])
    is_left = np.ones(num_items, dtype=bool)
    is_left[taken[begin:end] - user * num_items] = False
    return np.flatnonzero(is_left)
