"""Probabilities of pairs: scores against the rest of the catalogue, calibrated on targets and negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.core.randomness import derive_seed
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.metrics.pairs import best_threshold, sample_pairs
from gossamer.models.community.calibration import fit_platt
from gossamer.models.community.inference import judged

if TYPE_CHECKING:
    from gossamer.models.community.recommender import CommunityRecommender

MOST_COMPARED = 4_096  # items that stand for the catalogue
MOST_CALIBRATED = 2_000  # users


def user_offsets(
    model: CommunityRecommender, vectors: Float[Tensor, "B D"], seen: Interactions
) -> Float[np.ndarray, " B"]:
    """Return log mean_i exp(score) over items that each user does not have.

    A score minus this is the log odds of the item against one drawn at random, which is comparable between users.
    """
    num_items = len(model.items_)
    chosen = np.arange(num_items)
    if num_items > MOST_COMPARED:
        chosen = np.sort(np.random.default_rng(derive_seed("compared")).choice(num_items, MOST_COMPARED, replace=False))
    taken = torch.from_numpy(chosen)
    with judged(model.network_):
        scores = model.network_.score_all(vectors, model.item_vectors_[taken], model.item_bias_[taken])
    place = np.full(num_items, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    users, items = seen.pairs()
    is_there = place[items] >= 0
    rows, columns = torch.from_numpy(users[is_there].astype(np.int64)), torch.from_numpy(place[items[is_there]])
    others = scores.index_put((rows, columns), torch.tensor(-torch.inf))
    left = torch.isfinite(others).sum(dim=1)
    offsets = torch.logsumexp(others, dim=1) - torch.log(left.clamp(min=1).to(scores.dtype))
    # Who has everything is compared with everything.
    whole = torch.logsumexp(scores, dim=1) - np.log(len(chosen))
    found: np.ndarray = torch.where(left > 0, offsets, whole).numpy().astype(np.float64)
    return found


def calibrate(
    model: CommunityRecommender, data: Interactions, validation: HeldOut | None
) -> tuple[float, float, float]:
    """Return slope, intercept and the threshold with the best F1, on validation targets and as many negatives each.

    Without validation data, a tenth of every training history stands for the targets: optimistic, but of the right
    kind. The threshold is on probabilities.
    """
    held_out = _latest_tenth(data) if validation is None else validation
    rows = np.flatnonzero(held_out.target.user_counts > 0)
    if len(rows) > MOST_CALIBRATED:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_CALIBRATED).astype(np.int64)]
    held_out = HeldOut(held_out.history[rows], held_out.target[rows])
    pairs = sample_pairs(held_out, model.num_negatives, random_state=0)
    scores = model.score_pairs(pairs.data, held_out.history)
    slope, intercept = fit_platt(scores, pairs.is_target)
    probs = 1 / (1 + np.exp(-(slope * scores + intercept)))
    return slope, intercept, best_threshold(probs, pairs.is_target)


def _latest_tenth(data: Interactions) -> HeldOut:
    """Hold out a tenth of every user's items, one at least: the last in time, or the last in number."""
    rows, _ = data.pairs()
    keys = (data.time, rows) if data.time is not None else (rows,)
    order = np.lexsort(keys)
    ranks = np.empty(data.nnz, dtype=np.int64)
    ranks[order] = np.arange(data.nnz) - data.indptr[rows]
    is_target = ranks >= data.user_counts[rows] - np.maximum(data.user_counts[rows] // 10, 1)
    return HeldOut(data.keep(~is_target), data.keep(is_target))
