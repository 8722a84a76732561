"""Strong generalisation: the users that are tested were never trained on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.splits.parts import ROUNDING, describe_split, ranks_in_rows, seed_of

logger = logging.getLogger(__name__)


def split_users(
    interactions: Interactions,
    num_valid: int | float = 0.1,
    num_test: int | float = 0.1,
    *,
    fold_in: float = 0.8,
    random_state: RandomState = 0,
) -> Split:
    """Hold whole users out; `fold_in` of each one's items are the history, the others the target.

    Numbers of users are counts or, below 1, fractions of all users; `num_valid=0` leaves validation out. Items are
    those of the training users only, so that held-out users reveal no new ones. Held-out users with fewer than two
    of these items are dropped (logged, and `dropped_users` in the description). A user with n items has a random
    ⌈fold_in · n⌉ of them as history, but at least one and at most n − 1.

    Reference: Liang, Krishnan, Hoffman, Jebara, "Variational autoencoders for collaborative filtering", 2018.
    """
    count = interactions.num_users
    valid_count = _count_of("num_valid", num_valid, count, at_least=0)
    test_count = _count_of("num_test", num_test, count, at_least=1)
    if valid_count + test_count >= count:
        raise ValueError(
            f"num_valid and num_test must leave training users among the {count}, got {valid_count} and {test_count}"
        )
    check_real("fold_in", fold_in, above=0, below=1)
    generator = numpy_generator(random_state)
    order = generator.permutation(count)
    return _split_by_users(
        interactions,
        np.sort(order[valid_count + test_count :]),
        np.sort(order[:valid_count]) if valid_count else None,
        np.sort(order[valid_count : valid_count + test_count]),
        generator,
        {"num_valid": valid_count, "num_test": test_count, "fold_in": fold_in, "seed": seed_of(random_state)},
    )


def split_users_folds(
    interactions: Interactions,
    num_folds: int = 5,
    *,
    num_valid: int | float = 0,
    fold_in: float = 0.8,
    random_state: RandomState = 0,
) -> Iterator[Split]:
    """Yield `num_folds` splits as `split_users` makes them, in which every user is tested exactly once.

    `num_valid` users are taken from those that are not tested in the fold.
    """
    folds = _draw_folds(interactions, num_folds, num_valid, fold_in, random_state)
    return (_fold(interactions, *fold) for fold in folds)


def split_users_fold(
    interactions: Interactions,
    fold: int,
    num_folds: int = 5,
    *,
    num_valid: int | float = 0,
    fold_in: float = 0.8,
    random_state: RandomState = 0,
) -> Split:
    """Return split number `fold` of `split_users_folds`, without making the others."""
    check_int("num_folds", num_folds, at_least=2)
    check_int("fold", fold, at_least=0, at_most=num_folds - 1)
    return _fold(interactions, *_draw_folds(interactions, num_folds, num_valid, fold_in, random_state)[fold])


def _draw_folds(
    interactions: Interactions,
    num_folds: int,
    num_valid: int | float,
    fold_in: float,
    random_state: RandomState,
) -> list[tuple[int, np.ndarray, int, dict[str, Any]]]:
    """Return the number, the test users, the seed and the settings of every fold."""
    count = interactions.num_users
    check_int("num_folds", num_folds, at_least=2, at_most=max(2, count))
    check_real("fold_in", fold_in, above=0, below=1)
    valid_count = _count_of("num_valid", num_valid, count, at_least=0)
    if valid_count + -(-count // num_folds) >= count:
        raise ValueError(f"num_valid must leave training users in every fold, got {valid_count} of {count}")
    generator = numpy_generator(random_state)
    folds = np.array_split(generator.permutation(count), num_folds)
    # Drawn now: what a caller does with a shared generator between two folds must not change the folds.
    seeds = generator.integers(2**63, size=num_folds)
    settings = {"num_folds": num_folds, "num_valid": valid_count, "fold_in": fold_in, "seed": seed_of(random_state)}
    return [(number, fold, int(seed), settings) for number, (fold, seed) in enumerate(zip(folds, seeds, strict=True))]


def _fold(interactions: Interactions, number: int, fold: np.ndarray, seed: int, settings: dict[str, Any]) -> Split:
    generator = np.random.default_rng(seed)
    others = generator.permutation(np.setdiff1d(np.arange(interactions.num_users), fold))
    valid_count = settings["num_valid"]
    return _split_by_users(
        interactions,
        np.sort(others[valid_count:]),
        np.sort(others[:valid_count]) if valid_count else None,
        np.sort(fold),
        generator,
        {**settings, "fold": number},
    )


def _count_of(name: str, value: int | float, count: int, *, at_least: int) -> int:
    if isinstance(value, float):
        check_real(name, value, above=0, below=1)
        return max(1, round(value * count))
    return check_int(name, value, at_least=at_least)


def _split_by_users(
    interactions: Interactions,
    train_rows: np.ndarray,
    valid_rows: np.ndarray | None,
    test_rows: np.ndarray,
    generator: np.random.Generator,
    settings: dict[str, Any],
) -> Split:
    train = interactions[train_rows]
    known = train.item_counts > 0
    if not known.any():
        raise ValueError("interactions must have items of training users, got none")
    fold_in = settings["fold_in"]
    valid, valid_dropped = None, 0
    if valid_rows is not None:
        valid, valid_dropped = _hold_out("valid", interactions[valid_rows], known, fold_in, generator)
    test, test_dropped = _hold_out("test", interactions[test_rows], known, fold_in, generator)
    dropped = {"dropped_users": valid_dropped + test_dropped}
    train = train if known.all() else train.take_items(np.flatnonzero(known))
    return describe_split("users", {**settings, **dropped}, train, valid, test)


def _hold_out(
    name: str, users: Interactions, known: np.ndarray, fold_in: float, generator: np.random.Generator
) -> tuple[HeldOut, int]:
    """Return history and target of held-out users over the known items, and how many users had too few."""
    if not known.all():
        users = users.take_items(np.flatnonzero(known))
    enough = users.user_counts >= 2
    dropped = int(np.count_nonzero(~enough))
    if dropped:
        logger.info("%d of %d %s users dropped: fewer than 2 items that occur in training", dropped, len(users), name)
    if not enough.any():
        raise ValueError(f"{name} users must have at least 2 items that occur in training, got none with as many")
    users = users[enough]
    counts = users.user_counts
    history_counts = np.clip(np.ceil(fold_in * counts - ROUNDING), 1, counts - 1)
    rows, _ = users.pairs()
    in_history = ranks_in_rows(users, generator.random(users.nnz)) < history_counts[rows]
    return HeldOut(users.keep(in_history), users.keep(~in_history)), dropped
