"""Made-up users who belong to communities: each has items of its own, and everybody takes some of everybody's.

All of it is a function of the seed. A user's name says which community it is of, so that nothing else has to.
"""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Int64

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import derive_seed
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.datasets.dataset import Dataset, DatasetInfo

NAME = re.compile(r"user-(\d+)-(\d+)")


def load_planted_communities(
    *,
    num_users: int = 10_000,
    num_items: int = 5_000,
    num_communities: int = 12,
    items_per_user: int = 25,
    mixing: float = 0.4,
    seed: int = 0,
) -> Interactions:
    """Return interactions of users who take items of their community, and a share `mixing` of any, by popularity.

    Communities and their shares of items are unequally large, items unequally popular, and users take half to one and
    a half times `items_per_user` items, in a random order in time.
    """
    check_int("num_users", num_users, at_least=2)
    check_int("num_items", num_items, at_least=2)
    check_int("num_communities", num_communities, at_least=1, at_most=min(num_users, num_items))
    check_int("items_per_user", items_per_user, at_least=1)
    check_real("mixing", mixing, at_least=0, at_most=1)
    generator = np.random.default_rng(derive_seed(check_int("seed", seed, at_least=0), "planted"))
    of_user = _assigned(generator, num_users, num_communities)
    of_item = _assigned(generator, num_items, num_communities)
    popularity = 1 / np.sqrt(1 + generator.permutation(num_items))
    low, high = max(1, items_per_user // 2), max(1, items_per_user * 3 // 2)
    wanted = generator.integers(low, high + 1, size=num_users)
    users = np.repeat(np.arange(num_users), wanted)
    items = generator.choice(num_items, size=len(users), p=popularity / popularity.sum())
    is_own = generator.random(len(users)) >= mixing
    for community in range(num_communities):
        inside = np.flatnonzero(of_item == community)
        chosen = np.flatnonzero(is_own & (of_user[users] == community))
        shares = popularity[inside] / popularity[inside].sum()
        items[chosen] = inside[generator.choice(len(inside), size=len(chosen), p=shares)]
    names = Vocabulary([f"user-{community}-{number}" for number, community in enumerate(of_user)])
    return Interactions.from_pairs(
        names.ids.gather(users),
        [f"item-{of_item[item]}-{item}" for item in items],
        time=generator.permutation(len(users)),
        user_ids=names,
        item_ids=Vocabulary([f"item-{community}-{number}" for number, community in enumerate(of_item)]),
    )


def true_communities(users: Vocabulary) -> Int64[np.ndarray, " N"]:
    """Return the community of every user of `planted-communities`, by name.

    >>> true_communities(Vocabulary(["user-3-17", "user-0-4"])).tolist()
    [3, 0]
    """
    found = [NAME.fullmatch(str(name)) for name in users]
    if not all(found):
        strange = users[found.index(None)]
        raise ValueError(f"users must be those of the data set 'planted-communities', got one called {strange!r}")
    return np.array([int(match[1]) for match in found if match is not None], dtype=np.int64)


def _assigned(generator: np.random.Generator, count: int, num_communities: int) -> np.ndarray:
    """Return a community for each of `count`, none empty, the largest about three times the smallest."""
    shares = np.linspace(1, 3, num_communities)
    drawn = generator.choice(num_communities, size=count, p=shares / shares.sum())
    drawn[generator.permutation(count)[:num_communities]] = np.arange(num_communities)
    return drawn


DATASETS = {
    "planted-communities": Dataset(
        DatasetInfo(
            title="Made-up users who belong to communities",
            kind="Interactions",
            size="10,000 users × 5,000 items in 12 communities, 25 items each",
            licence="made up, no rights",
            homepage="https://github.com/gossamer",
            citation="A design of our own, for chapter 3 of Li's dissertation",
        ),
        load_planted_communities,
        None,
    )
}
