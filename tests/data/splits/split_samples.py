"""Random interactions, and what every split of them must satisfy, for the tests of the splits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from gossamer.data import HeldOut, Interactions, Split

Event = tuple[Any, Any, float, int]
# Containers are built in the tests: numba, when it compiles, draws random numbers, which a strategy must not.
SAMPLES = st.lists(
    st.dictionaries(st.integers(100, 112), st.integers(0, 9), min_size=4, max_size=12), min_size=4, max_size=9
)
Sample = list[dict[int, int]]
FRACTIONS = st.sampled_from([(0.7, 0.3), (0.8, 0.1, 0.1), (0.5, 0.25, 0.25)])
SEEDS = st.integers(0, 1000)


def build(sample: Sample) -> Interactions:
    rows = [(user, item, time) for user, items in enumerate(sample) for item, time in items.items()]
    users, items, times = zip(*rows, strict=True)
    ratings = [float(n % 5 + 1) for n in range(len(rows))]
    return Interactions.from_pairs(list(users), list(items), rating=ratings, time=list(times))


def planted(num_users: int = 40, num_items: int = 30, seed: int = 0) -> Interactions:
    generator = np.random.default_rng(seed)
    users, items = np.nonzero(generator.random((num_users, num_items)) < 0.4)
    return Interactions.from_pairs(users, items, time=generator.integers(0, 50, len(users)))


def events(data: Interactions) -> list[Event]:
    users, items = data.pairs()
    assert data.rating is not None
    assert data.time is not None
    return [
        (data.users[u], data.items[i], float(r), int(t))
        for u, i, r, t in zip(users, items, data.rating, data.time, strict=True)
    ]


def parts_of(split: Split) -> list[HeldOut]:
    return [split.test] if split.valid is None else [split.valid, split.test]


def attempt(split: Callable[..., Split], *arguments: Any, **options: Any) -> Split:
    """Split, or tell hypothesis to look elsewhere where the data are too small for every part to have something."""
    try:
        return split(*arguments, **options)
    except ValueError as fault:
        assume(not re.search("at least|must leave training users|got none", str(fault)))
        raise


def check_interaction_split(data: Interactions, split: Split) -> None:
    """The parts are the whole, share nothing, and keep users and items."""
    parts = [split.train, *(part.target for part in parts_of(split))]
    assert sorted(event for part in parts for event in events(part)) == sorted(events(data))
    for part in parts:
        assert part.nnz > 0
        assert part.users == data.users
        assert part.items == data.items
    for part in parts_of(split):
        assert not set(events(part.history)) & set(events(part.target))
