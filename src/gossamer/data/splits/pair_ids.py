"""Held-out ratings chosen by the ids of user and item alone: the random split of processes that divide the ratings."""

from __future__ import annotations

from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.splits.hashed import check_shares, hash_contents, held_out_by, mix_hashes
from gossamer.data.splits.parts import describe_split


def split_pair_ids(
    interactions: Interactions, valid_share: float = 0.1, test_share: float = 0.1, *, random_state: int = 0
) -> Split:
    """Hold interactions out as `split_random` does, each by a hash of its user, its item and the seed.

    The split of a part of the interactions is that part of the split. Hence shares are about right, not exactly, and
    parts may be empty. All parts keep all users and items, and the history of held-out parts is the training part.
    """
    check_shares(valid_share, test_share, random_state, "interactions")
    users, items = (
        hash_contents((f"{name}".encode() for name in ids), random_state)
        for ids in (interactions.users, interactions.items)
    )
    rows, columns = interactions.pairs()
    is_valid, is_test = held_out_by(mix_hashes(users[rows], items[columns]), valid_share, test_share)
    train = interactions.keep(~is_valid & ~is_test)
    valid = HeldOut(train, interactions.keep(is_valid)) if valid_share else None
    settings = {"valid_share": valid_share, "test_share": test_share, "seed": random_state}
    return describe_split("pair-ids", settings, train, valid, HeldOut(train, interactions.keep(is_test)))
