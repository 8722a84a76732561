"""Ratings held out by ids: the split of a part of them is that part of the split."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.interactions import Interactions
from gossamer.data.splits import split_pair_ids


def many_ratings() -> Interactions:
    rng = np.random.default_rng(0)
    pairs = [(f"u{user}", int(item)) for user in range(120) for item in rng.permutation(12)[: 1 + user % 8]]
    users, items = zip(*pairs, strict=True)
    return Interactions.from_pairs(users, items, rating=np.arange(len(pairs)) % 5)


def pairs_of(data: Interactions) -> set[tuple[object, object]]:
    users, items = data.pairs()
    return {(data.users[user], data.items[item]) for user, item in zip(users, items, strict=True)}


def test_the_split_of_some_users_is_that_part_of_the_split_of_all() -> None:
    data = many_ratings()
    whole = split_pair_ids(data, random_state=3)
    parts = [split_pair_ids(data[rank::2], random_state=3) for rank in (0, 1)]
    assert pairs_of(whole.train) == pairs_of(parts[0].train) | pairs_of(parts[1].train)
    assert pairs_of(whole.test.target) == pairs_of(parts[0].test.target) | pairs_of(parts[1].test.target)
    assert whole.description["kind"] == "pair-ids"


def test_every_rating_is_in_one_part_and_all_parts_know_all_users() -> None:
    data = many_ratings()
    split = split_pair_ids(data, 0.2, 0.3)
    assert split.valid is not None
    assert split.train.nnz + split.valid.target.nnz + split.test.target.nnz == data.nnz
    assert split.test.target.nnz / data.nnz == pytest.approx(0.3, abs=0.08)
    assert split.train.users == split.test.target.users == data.users
    assert split.test.history is split.train
    assert split_pair_ids(data, 0, 0.1).valid is None
