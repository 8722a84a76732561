"""A split by ids: that of a part of the users is that part of the split."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.splits import split_user_ids


def many_users(count: int = 400) -> Interactions:
    rng = np.random.default_rng(0)
    pairs = [(f"u{user}", int(item)) for user in range(count) for item in rng.permutation(12)[: 1 + user % 8]]
    return Interactions.from_pairs([user for user, _ in pairs], [item for _, item in pairs])


def pairs_of(data: Interactions) -> set[tuple[object, object]]:
    users, items = data.pairs()
    return {(data.users[user], data.items[item]) for user, item in zip(users, items, strict=True)}


def test_the_split_of_some_users_is_that_part_of_the_split_of_all() -> None:
    data = many_users()
    whole = split_user_ids(data, random_state=3)
    parts = [split_user_ids(data[rank::2], random_state=3) for rank in (0, 1)]
    assert whole.valid is not None
    held: list[tuple[HeldOut, list[HeldOut | None]]] = [
        (whole.valid, [part.valid for part in parts]),
        (whole.test, [part.test for part in parts]),
    ]
    assert pairs_of(whole.train) == set().union(*(pairs_of(part.train) for part in parts))
    for expected, found in held:
        assert pairs_of(expected.history) == set().union(*(pairs_of(one.history) for one in found if one))
        assert pairs_of(expected.target) == set().union(*(pairs_of(one.target) for one in found if one))


def test_users_are_in_one_part_and_keep_a_history_and_a_target() -> None:
    data = many_users()
    split = split_user_ids(data, 0.2, 0.3, fold_in=0.5)
    assert split.valid is not None
    names = [set(part.users) for part in (split.train, split.valid.history, split.test.history)]
    assert not names[0] & names[1]
    assert not names[0] & names[2]
    assert not names[1] & names[2]
    assert len(split.train) == pytest.approx(0.5 * len(data), rel=0.15)
    for held_out in (split.valid, split.test):
        assert held_out.history.user_counts.min() >= 1
        assert held_out.target.user_counts.min() >= 1
        both = held_out.history.user_counts + held_out.target.user_counts
        np.testing.assert_array_equal(held_out.history.user_counts, np.clip(np.ceil(0.5 * both), 1, both - 1))
    assert split.train.items == split.test.history.items == data.items
    assert split.description["kind"] == "user-ids"
    assert split_user_ids(data, random_state=1).train.users != split_user_ids(data, random_state=2).train.users


def test_few_users_may_leave_parts_empty() -> None:
    split = split_user_ids(Interactions.from_pairs(["b", "b"], ["x", "y"]), 0, 0.01)
    assert (split.valid, len(split.test), len(split.train)) == (None, 0, 1)


def test_mistakes() -> None:
    with pytest.raises(ValueError, match=r"must leave training users, got 0\.5 and 0\.5"):
        split_user_ids(many_users(4), 0.5, 0.5)
