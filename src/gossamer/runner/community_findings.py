"""What a model of communities found: how many formed, whether they are those planted, what a page shows of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.datasets.planted_communities import true_communities
from gossamer.metrics.pairs import calibration_curve, precision_recall_curve, sample_pairs
from gossamer.runner.pair_judging import NUM_NEGATIVES, SEED, is_cold_start, pair_scores

COMMUNITY_METRICS = ("ami", "communities", "communities_in_effect", "communities_per_user")
NUM_SHOWN = 12  # communities in a table


def community_metrics(estimator: Any, held_out: HeldOut, names: list[str]) -> dict[str, float]:
    """Return how many communities there are, how many in effect, for all and per user, and agreement with planted ones.

    A number in effect is the exponential of an entropy. A model without communities has one, of everybody.
    """
    has_some = hasattr(estimator, "memberships") and estimator.network_.has_communities
    weights = estimator.memberships(held_out.history) if has_some else np.ones((len(held_out), 1))
    found = {
        "communities": float(weights.shape[1]),
        "communities_in_effect": float(np.exp(_entropy(weights.mean(axis=0)))),
        "communities_per_user": float(np.exp(_entropy(weights)).mean()),
    }
    if "ami" in names:
        truth = true_communities(held_out.history.users)
        found["ami"] = float(adjusted_mutual_info_score(truth, weights.argmax(axis=1)))
    return found


def find_communities(estimator: Any, held_out: Any) -> dict[str, Any]:
    """Return what `report.communities.communities_section` shows; empty for other models or no data."""
    if not isinstance(held_out, HeldOut) or not hasattr(estimator, "communities"):
        return {}
    found: dict[str, Any] = {}
    if estimator.network_.has_communities:
        weights = estimator.memberships()
        found |= {
            "space": estimator.network_.community_space().detach().numpy(),
            "sizes": np.bincount(weights.argmax(axis=1), minlength=weights.shape[1]),
            "in effect": float(np.exp(_entropy(weights.mean(axis=0)))),
            "per user": float(np.exp(_entropy(weights)).mean()),
            "rows": _named_rows(estimator.communities(5)[:NUM_SHOWN], held_out.history),
        }
    if held_out.target.nnz:
        # The same pairs as those of the metrics, or the curve would belong to other numbers.
        pairs = sample_pairs(held_out, NUM_NEGATIVES, among_new=is_cold_start(held_out), random_state=SEED)
        scores = pair_scores(estimator, pairs.data, held_out.history)
        found["precision recall"] = precision_recall_curve(scores, pairs.is_target)
        found["calibration"] = calibration_curve(scores, pairs.is_target)
    return found


def _named_rows(rows: list[dict[str, Any]], data: Interactions) -> list[dict[str, Any]]:
    """Return rows with titles in the place of ids where items have them."""
    features = data.item_features
    titles = None if features is None or "title" not in features.columns else features["title"]

    def name(item: Any) -> str:
        return str(item if titles is None else titles[int(data.items.index_of([item])[0])])

    return [
        {
            "community": str(row["community"]),
            "members": row["members"],
            "share of weight": row["share of weight"],
            "typical items": ", ".join(name(item) for item in row["typical items"]),
        }
        for row in rows
    ]


def _entropy(probs: np.ndarray) -> Any:
    return -(probs * np.log(np.maximum(probs, 1e-12))).sum(axis=-1)
