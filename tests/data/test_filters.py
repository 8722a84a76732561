from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.data import Interactions
from gossamer.data.filters import drop_empty, filter_min_counts, keep_ratings

Pairs = set[tuple[int, int]]
PAIRS = st.sets(st.tuples(st.integers(0, 7), st.integers(10, 17)), min_size=1, max_size=40)


def interactions(pairs: Pairs) -> Interactions:
    users, items = zip(*sorted(pairs), strict=True)
    return Interactions.from_pairs(list(users), list(items))


def as_pairs(data: Interactions) -> Pairs:
    users, items = data.pairs()
    return {(int(data.users[u]), int(data.items[i])) for u, i in zip(users, items, strict=True)}


def core(pairs: Pairs, per_user: int, per_item: int) -> Pairs:
    """Remove one offending pair at a time, the slow way."""
    for user, item in pairs:
        if sum(u == user for u, _ in pairs) < per_user or sum(i == item for _, i in pairs) < per_item:
            return core(pairs - {(user, item)}, per_user, per_item)
    return pairs


@given(PAIRS, st.integers(1, 4), st.integers(1, 4))
def test_minimum_counts_leave_the_core(pairs: Pairs, per_user: int, per_item: int) -> None:
    kept = filter_min_counts(interactions(pairs), min_per_user=per_user, min_per_item=per_item)
    assert as_pairs(kept) == core(pairs, per_user, per_item)
    assert kept.nnz == 0 or (kept.user_counts.min() >= per_user and kept.item_counts.min() >= per_item)
    assert len(kept.users) == len({u for u, _ in as_pairs(kept)})
    assert len(kept.items) == len({i for _, i in as_pairs(kept)})


def test_features_follow() -> None:
    data = Interactions.from_pairs(
        ["a", "a", "b"],
        ["x", "y", "x"],
        rating=[5, 2, 1],
        user_features=pl.DataFrame({"age": [30, 40]}),
        item_features=pl.DataFrame({"price": [1, 2]}),
    )
    good = keep_ratings(data, 4)
    assert good.shape == (2, 2)
    assert good.rating is not None
    assert good.rating.tolist() == [5]
    small = drop_empty(good)
    assert small.shape == (1, 1)
    assert small.user_features is not None
    assert small.item_features is not None
    assert small.user_features.rows() == [(30,)]
    assert small.item_features.rows() == [(1,)]


def test_mistakes_are_named() -> None:
    data = interactions({(1, 10)})
    with pytest.raises(ValueError, match="interactions must have ratings to keep the good ones, got none"):
        keep_ratings(data, 4)
    with pytest.raises(ValueError, match="min_per_user must be an integer >= 1, got 0"):
        filter_min_counts(data, min_per_user=0)
