"""Which interactions stay: by rating, and by how many a user or an item has."""

from __future__ import annotations

import numpy as np

from gossamer.core.checks import check_int, check_real
from gossamer.data.interactions import Interactions


def keep_ratings(interactions: Interactions, at_least: float) -> Interactions:
    """Return the interactions rated `at_least` or better, with their ratings and with all users and items.

    >>> data = Interactions.from_pairs([1, 1, 2], [1, 2, 1], rating=[5, 3, 4])
    >>> keep_ratings(data, 4).nnz
    2
    """
    if interactions.rating is None:
        raise ValueError("interactions must have ratings to keep the good ones, got none")
    return interactions.keep(interactions.rating >= check_real("at_least", at_least))


def drop_empty(interactions: Interactions) -> Interactions:
    """Return the same interactions without the users and the items that have none."""
    return filter_min_counts(interactions)


def filter_min_counts(interactions: Interactions, *, min_per_user: int = 1, min_per_item: int = 1) -> Interactions:
    """Return the largest part in which every user and every item has the minimum, its core.

    Dropping a rare item can make a user rare, so both rules are applied in turn until nothing changes; the result
    does not depend on the order. Users and items that fall out leave the vocabularies too.

    >>> data = Interactions.from_pairs("aabbc", "xyxyz")
    >>> filter_min_counts(data, min_per_user=2, min_per_item=2).shape
    (2, 2)
    """
    check_int("min_per_user", min_per_user, at_least=1)
    check_int("min_per_item", min_per_item, at_least=1)
    rows, columns = interactions.pairs()
    kept = np.ones(interactions.nnz, dtype=bool)
    while True:
        per_user = np.bincount(rows[kept], minlength=interactions.num_users)
        per_item = np.bincount(columns[kept], minlength=interactions.num_items)
        stays = kept & (per_user >= min_per_user)[rows] & (per_item >= min_per_item)[columns]
        if np.array_equal(stays, kept):
            break
        kept = stays
    core = interactions.keep(kept)[per_user > 0]
    return core if (per_item > 0).all() else core.take_items(np.flatnonzero(per_item > 0))
