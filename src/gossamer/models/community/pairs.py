"""Probabilities of pairs: scores against the rest of the catalogue, calibrated on targets and negatives."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.core.randomness import derive_seed
from gossamer.core.topk import batch_rows
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.metrics.pairs import best_threshold, roc_auc, sample_pairs
from gossamer.models.community.calibration import fit_platt
from gossamer.models.community.encoder import CodeTable
from gossamer.models.community.inference import embed_items, judged
from gossamer.models.community.state import Known
from gossamer.models.item_ranker import check_interactions

if TYPE_CHECKING:
    from gossamer.models.community.recommender import CommunityRecommender

logger = logging.getLogger(__name__)

MOST_COMPARED = 4_096  # items that stand for the catalogue
MOST_CALIBRATED = 2_000  # users
MOST_VALIDATED = 1_000  # users that an epoch is judged by
PAIRS_AT_ONCE = 1 << 17


def score_pairs(
    model: CommunityRecommender, data: Interactions, history: Interactions | None
) -> Float[np.ndarray, " nnz"]:
    """Return the log odds of every pair against an item drawn at random, a block of users at a time."""
    known = _known_as(model, data, history)
    vectors, biases, columns = _items_of(model, data)
    scores = np.empty(data.nnz, dtype=np.float64)
    size = batch_rows(len(model.items_))
    for start in range(0, len(data), size):
        part, seen = data[start : start + size], known.part(start, start + size)
        users, items = part.pairs()
        asking = model._vectors(model._embed(seen))
        rows = torch.from_numpy(users.astype(np.int64))
        places = columns[items.astype(np.int64)]
        first = int(data.indptr[start])
        for begin in range(0, part.nnz, PAIRS_AT_ONCE):
            some = slice(begin, min(begin + PAIRS_AT_ONCE, part.nnz))
            with judged(model.network_):
                found = model.network_.score_pairs(asking, vectors, biases, rows[some], places[some])
            scores[first + some.start : first + some.stop] = found.numpy()
        scores[first : first + part.nnz] -= user_offsets(model, asking, seen.history)[users]
    return scores


def _known_as(model: CommunityRecommender, data: Interactions, history: Interactions | None) -> Known:
    """Return what is known of the users of `data`, in their order."""
    if history is None:
        known = model.training_users_.known_as(data.users, model.items_)
        if data.user_features is None:
            return known
        codes = CodeTable.of(model.user_reader_.read(data.user_features, len(data)))
        return Known(known.history, codes, known.weights)
    rows = check_interactions("history", history).users.find(data.users.ids)
    if (rows < 0).any():
        stranger = data.users[int(np.argmin(rows))]
        raise ValueError(f"history must have all users of data, got none for {stranger!r}; give an empty row")
    seen = history[rows]
    if seen.user_features is None:
        seen = replace(seen, user_features=data.user_features)
    return model._known(seen)


def _items_of(model: CommunityRecommender, data: Interactions) -> tuple[Tensor, Tensor, Tensor]:
    """Return vectors and biases of the model's items, then of others in `data`, and the place of each of its items."""
    places = model.items_.find(data.items.ids).astype(np.int64)
    strange = np.flatnonzero(places < 0)
    if len(strange) == 0:
        return model.item_vectors_, model.item_bias_, torch.from_numpy(places)
    features = None if data.item_features is None else data.item_features[strange]
    codes = CodeTable.of(model.item_reader_.read(features, len(strange)))
    vectors, biases = embed_items(model.network_, codes, model.training_users_.codes, None, 0)
    places[strange] = len(model.items_) + np.arange(len(strange))
    together = torch.cat([model.item_vectors_, vectors]), torch.cat([model.item_bias_, biases])
    return *together, torch.from_numpy(places)


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


def are_targets_new(model: CommunityRecommender, held_out: HeldOut) -> bool:
    """Say whether no target is an item that the model knows, as where whole items are held out."""
    target = held_out.target
    known = model.items_.find(target.items.ids)[np.unique(target.indices)] >= 0
    return not bool(known.any())


def judge_new_items(model: CommunityRecommender, held_out: HeldOut) -> dict[str, float]:
    """Return the ROC-AUC of targets among items that are as new."""
    pairs = sample_pairs(held_out, model.num_negatives, among_new=True, random_state=0)
    return {"roc_auc": roc_auc(model.score_pairs(pairs.data, held_out.history), pairs.is_target)}


def calibrate(
    model: CommunityRecommender, data: Interactions, validation: HeldOut | None
) -> tuple[float, float, float]:
    """Return slope, intercept and the threshold with the best F1, on validation targets and as many negatives each.

    Without validation data, a tenth of every training history stands for the targets: optimistic, but of the right
    kind. The threshold is on probabilities. Where users have everything there is nothing to calibrate on, and the
    score is taken at its word: log odds against one item drawn at random, of which there are `num_negatives`.
    """
    held_out = _latest_tenth(data) if validation is None else validation
    rows = np.flatnonzero(held_out.target.user_counts > 0)
    if len(rows) > MOST_CALIBRATED:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_CALIBRATED).astype(np.int64)]
    held_out = HeldOut(held_out.history[rows], held_out.target[rows])
    is_cold = are_targets_new(model, held_out)
    pairs = sample_pairs(held_out, model.num_negatives, among_new=is_cold, random_state=0)
    if pairs.is_target.all():
        logger.warning("calibration must have items that users lack, got none: probabilities are the scores' own")
        return 1.0, -float(np.log(model.num_negatives)), 0.5
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


def few_users(held_out: HeldOut) -> HeldOut:
    """Return users with targets, evenly from all of them, few enough to be judged after every epoch."""
    rows = np.flatnonzero(held_out.target.user_counts > 0)
    if len(rows) > MOST_VALIDATED:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_VALIDATED).astype(np.int64)]
    return HeldOut(held_out.history[rows], held_out.target[rows])
