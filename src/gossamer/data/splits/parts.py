"""What all splits share: checked fractions, cut points, ranks within rows and the description of a split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int64

from gossamer.core.checks import check_real
from gossamer.core.randomness import RandomState
from gossamer.data.interactions import HeldOut, Interactions, Split

# Products such as 0.7 * 10 may come out a hair above the whole number they mean.
ROUNDING = 1e-9


def check_fractions(fractions: Sequence[float], parts: tuple[int, ...] = (2, 3)) -> tuple[float, ...]:
    """Return the fractions as floats: positive, as many as `parts` allows, together 1."""
    values = tuple(check_real("fractions", fraction, above=0, below=1) for fraction in fractions)
    if len(values) not in parts or abs(sum(values) - 1) > 1e-6:
        wanted = " or ".join(map(str, parts))
        raise ValueError(f"fractions must be {wanted} positive numbers that add up to 1, got {tuple(fractions)!r}")
    return values


def cut_points(count: int, fractions: Sequence[float]) -> Int64[np.ndarray, " parts_minus_1"]:
    """Return where `count` things are cut: part p ends at the rounded sum of the first p fractions.

    >>> cut_points(10, (0.8, 0.1, 0.1)).tolist()
    [8, 9]
    """
    points: np.ndarray = np.rint(np.cumsum(fractions)[:-1] * count).astype(np.int64)
    return points


def check_sizes(sizes: Sequence[int], what: str) -> None:
    """Refuse a split that leaves a part without anything in it."""
    if min(sizes) == 0:
        raise ValueError(f"fractions must give every part at least one of the {what}, got sizes {list(sizes)}")


def ranks_in_rows(interactions: Interactions, *keys: np.ndarray) -> Int64[np.ndarray, " nnz"]:
    """Return the rank of every interaction within its user's row, by the keys in order of importance."""
    rows, _ = interactions.pairs()
    order = np.lexsort((*reversed(keys), rows))
    ranks = np.empty(interactions.nnz, dtype=np.int64)
    ranks[order] = np.arange(interactions.nnz) - interactions.indptr[rows]
    return ranks


def seed_of(random_state: RandomState) -> int | None:
    """Return the seed for the record; None where the caller gave a generator or nothing."""
    return None if random_state is None or isinstance(random_state, np.random.Generator) else int(random_state)


def describe_split(
    kind: str, settings: dict[str, Any], train: Interactions, valid: HeldOut | None, test: HeldOut
) -> Split:
    """Build the split, with a description that holds its kind, settings and sizes."""
    sizes = {"num_items": train.num_items, "train_users": train.num_users, "train_interactions": train.nnz}
    for name, part in (("valid", valid), ("test", test)):
        if part is not None:
            sizes[f"{name}_users"] = int(np.count_nonzero(part.target.user_counts))
            sizes[f"{name}_interactions"] = part.target.nnz
    return Split(train, valid, test, {"kind": kind, **settings, **sizes})
