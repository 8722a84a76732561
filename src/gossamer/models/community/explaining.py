"""What was learned, for people: communities with their members and items, and why a user is recommended an item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from gossamer.core.topk import top_n
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community.communities import effective_number
from gossamer.models.community.inference import judged
from gossamer.models.community.network import UserParts
from gossamer.models.community.state import Known
from gossamer.models.item_ranker import check_interactions

if TYPE_CHECKING:
    from gossamer.models.community.recommender import CommunityRecommender

NUM_NAMED = 5
MOST_LEFT_OUT = 200  # items of a history that are left out in turn


def community_tables(model: CommunityRecommender, n: int) -> list[dict[str, Any]]:
    """Return a row per community, largest first: members by largest weight, share of all weight, and examples."""
    weights = model.memberships()
    sizes = np.bincount(weights.argmax(axis=1), minlength=weights.shape[1])
    liked = top_n(raised_items(model), n)[0]
    rows = []
    for community in np.argsort(-sizes, kind="stable"):
        nearest = np.argsort(-weights[:, community], kind="stable")[:n]
        rows.append(
            {
                "community": int(community),
                "members": int(sizes[community]),
                "share of weight": float(weights[:, community].mean()),
                "typical members": [model.training_users_.users[int(user)] for user in nearest],
                "typical items": [model.items_[int(item)] for item in liked[community] if item >= 0],
            }
        )
    return rows


def raised_items(model: CommunityRecommender) -> Float[np.ndarray, "K M"]:
    """Return by how much each community raises each item above the mean of all communities, popularity left aside."""
    network = model.network_
    with judged(network):
        space = network.community_space()
        vectors = network.user_vectors(UserParts(full=space, community=space), only=("community",))
        raised = vectors @ model.item_vectors_.T
        above: np.ndarray = (raised - raised.mean(dim=0)).numpy()
        return above


def model_tables(model: CommunityRecommender, n: int) -> dict[str, Any]:
    """Return tables on the whole model: its communities, and items that speak for the same users."""
    tables: dict[str, Any] = {}
    if model.network_.has_communities:
        weights = torch.from_numpy(model.memberships())
        tables["how communities formed"] = [
            {
                "communities": model.num_communities_,
                "in effect": float(effective_number(weights.mean(dim=0))),
                "in effect per user": float(effective_number(weights).mean()),
            }
        ]
        named = ("typical members", "typical items")
        tables["communities"] = [
            {key: ", ".join(map(str, value[:NUM_NAMED])) if key in named else value for key, value in row.items()}
            for row in community_tables(model, NUM_NAMED)[:n]
        ]
    popular = np.argsort(-model.popularity_, kind="stable")[:n]
    unit = functional.normalize(model.neighbour_vectors_, dim=1)
    closeness = (unit[torch.from_numpy(popular.copy())] @ unit.T).numpy()
    closeness[np.arange(len(popular)), popular] = -np.inf
    alike, _ = top_n(closeness, NUM_NAMED)
    tables["items that speak for the same users"] = [
        {"item": model.items_[int(item)], "alike": ", ".join(str(model.items_[int(j)]) for j in row if j >= 0)}
        for item, row in zip(popular, alike, strict=True)
    ]
    return tables


def one_user(history: Interactions, user: Any = None) -> Interactions:
    """Return the row of a user; unsaid, the only one."""
    check_interactions("history", history)
    if user is None:
        if len(history) != 1:
            raise ValueError(f"user must be named where history has several, got None for {len(history)} users")
        return history
    row = int(history.users.index_of([user], name="user")[0])
    return history[row : row + 1]


def user_tables(model: CommunityRecommender, known: Known, n: int) -> dict[str, Any]:
    """Return one user's communities, what each part adds to the best items, and who speaks for the first of them."""
    parts = model._embed(known)
    vectors = model._vectors(parts)
    with judged(model.network_):
        scores = model.network_.score_all(vectors, model.item_vectors_, model.item_bias_)
    items, _ = top_n(scores.numpy(), n, known.history.matrix())
    chosen = torch.from_numpy(items[0][items[0] >= 0].astype(np.int64))
    tables: dict[str, Any] = {"recommended": _shares(model, parts, vectors, chosen)}
    if "memberships" in parts:
        weights = parts["memberships"][0].numpy()
        order = np.argsort(-weights, kind="stable")[:n]
        tables["communities"] = [{"community": int(place), "weight": float(weights[place])} for place in order]
    if known.history.nnz and len(chosen):
        tables["items of the history that speak loudest for the first"] = _speakers(model, known, int(chosen[0]), n)
    return tables


def _shares(model: CommunityRecommender, parts: UserParts, vectors: Tensor, chosen: Tensor) -> list[dict[str, Any]]:
    """Return for each item the score and its exact parts: popularity, each part of the user, what only both explain."""
    network = model.network_
    with judged(network):
        whole = network.score_all(vectors, model.item_vectors_[chosen], model.item_bias_[chosen])[0]
        added = {
            name: (network.user_vectors(parts, only=(name,)) @ model.item_vectors_[chosen].T)[0]
            for name in network.parts
        }
    rows = []
    for place, item in enumerate(chosen.tolist()):
        row: dict[str, Any] = {
            "item": model.items_[item],
            "score": float(whole[place]),
            "popularity": float(model.item_bias_[item]),
        }
        row |= {name: float(values[place]) for name, values in added.items()}
        row["together"] = row["score"] - row["popularity"] - sum(row[name] for name in added)
        size = sum(abs(row[name]) for name in added)
        if "community" in added:
            row["share of community"] = abs(row["community"]) / size if size else 0.0
        rows.append(row)
    return rows


def _speakers(model: CommunityRecommender, known: Known, item: int, n: int) -> list[dict[str, Any]]:
    """Return how much the score of `item` loses when an item of the history is left out, the loudest first."""
    history = known.history
    latest = np.arange(history.nnz) if history.time is None else np.argsort(history.time, kind="stable")
    left_out = latest[::-1][:MOST_LEFT_OUT]
    kept = np.ones((len(left_out) + 1, history.nnz), dtype=bool)
    kept[np.arange(1, len(kept)), left_out] = False
    _, columns = np.nonzero(kept)
    variants = Interactions(
        Vocabulary.numbered(len(kept)),
        history.items,
        np.concatenate([[0], np.cumsum(kept.sum(axis=1))]),
        history.indices[columns],
        time=None if history.time is None else history.time[columns],
    )
    weights = None if known.weights is None else known.weights[columns]
    codes = known.codes.take(torch.zeros(len(kept), dtype=torch.int64))
    vectors = model._vectors(model._embed(Known(variants, codes, weights)))
    with judged(model.network_):
        scores = model.network_.score_all(vectors, model.item_vectors_[[item]], model.item_bias_[[item]])[:, 0].numpy()
    adds = scores[0] - scores[1:]
    order = np.argsort(-np.abs(adds), kind="stable")[:n]
    return [
        {"item": model.items_[int(history.indices[left_out[place]])], "adds": float(adds[place])} for place in order
    ]
