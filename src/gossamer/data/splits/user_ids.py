"""Held-out users chosen by their ids alone, so that processes that divide the users need not ask each other."""

from __future__ import annotations

import numpy as np
from jaxtyping import UInt64

from gossamer.core.checks import check_real
from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.splits.hashed import check_shares, hash_contents, held_out_by
from gossamer.data.splits.parts import ROUNDING, describe_split, ranks_in_rows


def split_user_ids(
    interactions: Interactions,
    valid_share: float = 0.1,
    test_share: float = 0.1,
    *,
    fold_in: float = 0.8,
    random_state: int = 0,
) -> Split:
    """Hold whole users out as `split_users` does, each by a hash of its id and the seed.

    Who is held out, and which ⌈fold_in · n⌉ of a user's n items are the history (at least one, at most n − 1), depends
    on nobody else: the split of a part of the users is that part of the split. Hence shares are about right, not
    exactly, parts may be empty, and all items stay, those that only held-out users have included. Held-out users with
    fewer than two items are dropped.
    """
    check_shares(valid_share, test_share, random_state, "users")
    check_real("fold_in", fold_in, above=0, below=1)
    numbers = hash_ids(interactions, random_state)
    is_valid, is_test = held_out_by(numbers, valid_share, test_share)
    valid = _hold_out(interactions, numbers, is_valid, fold_in) if valid_share else None
    settings = {"valid_share": valid_share, "test_share": test_share, "fold_in": fold_in, "seed": random_state}
    train = interactions[~is_test & ~is_valid]
    return describe_split("user-ids", settings, train, valid, _hold_out(interactions, numbers, is_test, fold_in))


def hash_ids(interactions: Interactions, seed: int) -> UInt64[np.ndarray, " N"]:
    """Return a number for every user, the same on every machine."""
    return hash_contents((f"{user}".encode() for user in interactions.users), seed)


def _hold_out(interactions: Interactions, numbers: np.ndarray, is_chosen: np.ndarray, fold_in: float) -> HeldOut:
    chosen = is_chosen & (interactions.user_counts >= 2)
    users, numbers = interactions[chosen], numbers[chosen]
    counts = users.user_counts
    drawn = [np.random.default_rng(number).random(count) for number, count in zip(numbers, counts, strict=True)]
    rows, _ = users.pairs()
    history_counts = np.clip(np.ceil(fold_in * counts - ROUNDING), 1, counts - 1)
    ranks = ranks_in_rows(users, np.concatenate([*drawn, np.empty(0)]))
    in_history = ranks < history_counts[rows]
    return HeldOut(users.keep(in_history), users.keep(~in_history))
