"""The arguments of a CommunityRecommender, checked by name before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gossamer.core.checks import check_bool, check_choice, check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.models.community.features import KINDS
from gossamer.models.community.layers import AGGREGATORS
from gossamer.models.community.network import COMMUNITY_PARTS, DISTANCES, PARTS
from gossamer.models.community.objective import LOSSES

if TYPE_CHECKING:
    from gossamer.models.community.recommender import CommunityRecommender

NEGATIVES = ("uniform", "popularity")
STARTS = ("spectrum", "kmeans", "orthonormal")
INTEGERS = {  # and the least that each may be
    "embedding_dim": 2,
    "item_neighbours": 1,
    "item_edges": 0,
    "hidden_dim": 0,
    "num_candidates": 1,
    "num_negatives": 1,
    "batch_size": 1,
    "warmup_epochs": 0,
    "epochs": 1,
}
OPTIONAL_INTEGERS = {"num_communities": 1, "num_neighbours": 1, "patience": 1}
CHOICES = {
    "method": tuple(PARTS),
    "aggregator": AGGREGATORS,
    "distance": DISTANCES,
    "community_part": COMMUNITY_PARTS,
    "loss": LOSSES,
    "negatives": NEGATIVES,
    "community_start": STARTS,
}


def check_arguments(model: CommunityRecommender) -> None:
    """Name the first argument that is not what it must be."""
    for name, choices in CHOICES.items():
        check_choice(name, getattr(model, name), choices)
    for name, least in INTEGERS.items():
        check_int(name, getattr(model, name), at_least=least)
    for name, least in OPTIONAL_INTEGERS.items():
        if getattr(model, name) is not None:
            check_int(name, getattr(model, name), at_least=least)
    if model.num_communities is not None and model.num_communities >= model.embedding_dim:
        raise ValueError(
            f"num_communities must be below embedding_dim ({model.embedding_dim}), so that something is left that is "
            f"the user's own, got {model.num_communities}"
        )
    for name in ("temperature", "learning_rate"):
        check_real(name, getattr(model, name), above=0)
    for name in ("formation", "weight_decay"):
        check_real(name, getattr(model, name), at_least=0)
    for name in ("dropout", "id_dropout"):
        check_real(name, getattr(model, name), at_least=0, below=1)
    for name in ("recent_half_life", "half_life_days"):
        if getattr(model, name) is not None:
            check_real(name, getattr(model, name), above=0)
    for name in ("weighted", "by_time"):
        check_bool(name, getattr(model, name))
    for name in ("user_features", "item_features"):
        _check_kinds(name, getattr(model, name))
    numpy_generator(model.random_state)


def _check_kinds(name: str, kinds: object) -> None:
    if kinds is None:
        return
    if not isinstance(kinds, Mapping):
        raise ValueError(f"{name} must be a table of columns and their kinds ({', '.join(KINDS)}), got {kinds!r}")
    for column, kind in kinds.items():
        check_choice(f"{name}[{column!r}]", kind, KINDS)
