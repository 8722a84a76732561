"""Planted communities: a function of the seed, named by their users, and as mixed as asked for."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.data.vocabulary import Vocabulary
from gossamer.datasets.planted_communities import load_planted_communities, true_communities

SMALL = {"num_users": 200, "num_items": 60, "num_communities": 4, "items_per_user": 10}


def test_users_take_items_of_their_community() -> None:
    data = load_planted_communities(mixing=0.3, **SMALL)
    of_user = true_communities(data.users)
    of_item = np.array([int(str(item).split("-")[1]) for item in data.items])
    users, items = data.pairs()
    assert data.shape == (200, 60)
    assert set(of_user.tolist()) == set(of_item.tolist()) == {0, 1, 2, 3}
    assert 0.65 < np.mean(of_user[users] == of_item[items]) < 0.9  # 0.7 and what mixing hits by chance
    assert data.fingerprint() == datasets.load("planted-communities", mixing=0.3, **SMALL).fingerprint()
    assert data.fingerprint() != load_planted_communities(mixing=0.3, seed=1, **SMALL).fingerprint()


def test_strangers_have_no_true_community() -> None:
    with pytest.raises(ValueError, match=r"users must be those of .*'planted-communities', got one called 'ann'"):
        true_communities(Vocabulary(["user-1-2", "ann"]))
    with pytest.raises(ValueError, match="num_communities must be an integer >= 1 and <= 60, got 61"):
        load_planted_communities(**SMALL | {"num_communities": 61})
