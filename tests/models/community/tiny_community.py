"""Small data and a small model for the tests of this family."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import polars as pl

from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community import CommunityRecommender

SETTINGS: dict[str, Any] = {
    "embedding_dim": 8,
    "num_communities": 2,
    "item_edges": 3,
    "epochs": 12,
    "batch_size": 16,
    "learning_rate": 0.03,
    "dropout": 0.1,
}


def two_tastes(num_users: int = 40, num_items: int = 12, seed: int = 0) -> Interactions:
    """Return users who take items of one half, with a feature that says which half, times and ratings."""
    generator = np.random.default_rng(seed)
    half = num_items // 2
    users, items = [], []
    for user in range(num_users):
        chosen = (user % 2) * half + generator.permutation(half)[: half - 1]
        users += [f"u{user}"] * len(chosen)
        items += [f"i{item}" for item in chosen]
    return Interactions.from_pairs(
        users,
        items,
        rating=generator.integers(1, 6, size=len(users)).astype(float),
        time=generator.permutation(len(users)),
        user_ids=Vocabulary([f"u{user}" for user in range(num_users)]),
        item_ids=Vocabulary([f"i{item}" for item in range(num_items)]),
        user_features=pl.DataFrame({"taste": ["ab"[user % 2] for user in range(num_users)], "age": range(num_users)}),
        item_features=pl.DataFrame({"kinds": [["x" if item < half else "y"] for item in range(num_items)]}),
    )


@functools.cache
def fitted(**settings: Any) -> CommunityRecommender:
    """Return a small model fitted on `two_tastes`; equal settings share one, which tests must not change."""
    return CommunityRecommender(**SETTINGS | settings).fit(two_tastes())
