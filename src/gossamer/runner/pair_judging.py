"""Judge any recommender as a classifier of pairs: held-out targets among negatives that are the same for all models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from gossamer.core.protocols import Recommendations, Recommender
from gossamer.core.topk import batch_rows, top_n
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.metrics.pairs import best_threshold, judge_pairs, sample_pairs

NUM_NEGATIVES, SEED = 10, 0  # table 3.1's ten; one seed for all models and runs


def pair_metrics(estimator: Any, held_out: HeldOut, valid: HeldOut | None) -> dict[str, float]:
    """Return accuracy, F1, ROC-AUC and PR-AUC; the threshold of the first two is the one with the best F1 on `valid`.

    Without validation data, a model's own threshold is used; a model without one is refused.
    """
    if valid is not None:
        known = sample_pairs(valid, NUM_NEGATIVES, among_new=is_cold_start(valid), random_state=SEED)
        threshold = best_threshold(pair_scores(estimator, known.data, valid.history), known.is_target)
    elif hasattr(estimator, "calibration_"):
        threshold = float(estimator.calibration_[2])
    else:
        raise ValueError("split must hold out validation data to choose the threshold of accuracy and f1 on, got none")
    pairs = sample_pairs(held_out, NUM_NEGATIVES, among_new=is_cold_start(held_out), random_state=SEED)
    return judge_pairs(pair_scores(estimator, pairs.data, held_out.history), pairs.is_target, threshold)


def is_cold_start(held_out: HeldOut) -> bool:
    """Say whether all targets are items that no history has: then negatives must be as new, or age alone would tell."""
    return not bool(held_out.history.item_counts[np.unique(held_out.target.indices)].any())


def pair_scores(estimator: Any, pairs: Interactions, history: Interactions) -> Float[np.ndarray, " nnz"]:
    """Return a score per pair: what a model predicts of pairs, else the scores by which it ranks all items."""
    if hasattr(estimator, "predict"):
        takes_history = "history" in inspect.signature(estimator.predict).parameters
        predicted = estimator.predict(pairs, history) if takes_history else estimator.predict(pairs)
        return np.asarray(predicted, dtype=np.float64)
    if not isinstance(estimator, Recommender):
        raise ValueError(f"the model must predict pairs or recommend, which {type(estimator).__name__} does not do")
    num_items = len(estimator.items_)  # type: ignore[attr-defined]
    columns = estimator.items_.find(pairs.items.ids)  # type: ignore[attr-defined]
    scores = np.empty(pairs.nnz, dtype=np.float64)
    size = batch_rows(num_items)
    for start in range(0, len(pairs), size):
        part = pairs[start : start + size]
        answer = estimator.recommend(history[start : start + size], num_items, exclude_seen=False)
        dense = np.empty((len(part), num_items))
        np.put_along_axis(dense, answer.items.astype(np.int64), answer.scores.astype(np.float64), axis=1)
        users, items = part.pairs()
        places = columns[items]
        below_all = dense.min(axis=1) - 1.0  # of items that the model does not know
        found = np.where(places >= 0, dense[users, np.maximum(places, 0)], below_all[users])
        scores[int(pairs.indptr[start]) : int(pairs.indptr[start]) + part.nnz] = found
    return scores


def ranking_of(estimator: Any) -> Callable[[Interactions, int], Recommendations] | None:
    """Return what gives lists of items: the model's `recommend`, or predictions of all pairs; None where neither is."""
    if isinstance(estimator, Recommender):
        return estimator.recommend
    if not hasattr(estimator, "predict") or not hasattr(estimator, "items_"):
        return None

    def recommend(history: Interactions, n: int) -> Recommendations:
        known = history.aligned_to(estimator.items_)
        num_users, num_items = known.shape
        everything = Interactions(
            known.users,
            known.items,
            np.arange(num_users + 1, dtype=np.int64) * num_items,
            np.tile(np.arange(num_items, dtype=np.int32), num_users),
        )
        scores = np.asarray(estimator.predict(everything), dtype=np.float32).reshape(num_users, num_items)
        return Recommendations(*top_n(scores, n, known.matrix()))

    return recommend
