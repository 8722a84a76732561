"""Splits by time: the future is predicted from the past, per user or for all users at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.splits.parts import ROUNDING, check_fractions, check_sizes, describe_split, ranks_in_rows, seed_of


def split_user_time(
    interactions: Interactions, fractions: Sequence[float] = (0.7, 0.3), *, random_state: RandomState = 0
) -> Split:
    """Give each user's earliest interactions to train and the latest to test, with valid between for three fractions.

    A user with n interactions has the first ⌈f · n⌉ in the parts whose fractions add up to f, so a single one is for
    training. Among equal times the order is random, by the seed: half of MovieLens' users have equal times
    across the boundary. The history of a held-out part is all that came before it.
    """
    fractions = check_fractions(fractions)
    times = _times(interactions)
    ties = numpy_generator(random_state).random(interactions.nnz)
    ranks = ranks_in_rows(interactions, times, ties)
    rows, _ = interactions.pairs()
    ends = np.cumsum(fractions)[:-1, None] * interactions.user_counts[None, :]
    ends = np.ceil(ends - ROUNDING).astype(np.int64)
    part = (ranks[None, :] >= ends[:, rows]).sum(axis=0)
    settings = {"fractions": list(fractions), "seed": seed_of(random_state)}
    return _split_by_part("user_time", settings, interactions, part, len(fractions))


def split_global_time(
    interactions: Interactions,
    fractions: Sequence[float] | None = None,
    *,
    cutoffs: Sequence[int] | None = None,
) -> Split:
    """Give everything before a moment to train and the rest to test, with valid between for two moments.

    The moments are `cutoffs` (a part begins at its cutoff) or follow from `fractions` of the interactions, by
    default 0.8, 0.1, 0.1. Equal times are never separated: all of them go to the later part. The history of a
    held-out part is all that came before it; users and items that are new in it are kept, with no history.
    """
    times = _times(interactions)
    if cutoffs is None:
        fractions = check_fractions((0.8, 0.1, 0.1) if fractions is None else fractions)
        positions = np.ceil(np.cumsum(fractions)[:-1] * len(times) - ROUNDING).astype(np.int64)
        moments = np.sort(times)[np.minimum(positions, len(times) - 1)].tolist()
    elif fractions is None:
        moments = [check_int("cutoffs", cutoff) for cutoff in cutoffs]
        if len(moments) not in (1, 2) or moments != sorted(set(moments)):
            raise ValueError(f"cutoffs must be one or two rising times, got {list(cutoffs)!r}")
    else:
        raise ValueError(f"fractions must be None where cutoffs are given, got {tuple(fractions)!r}")
    part = np.searchsorted(np.array(moments), times, side="right")
    settings: dict[str, Any] = {"cutoffs": moments}
    if fractions is not None:
        settings["fractions"] = list(fractions)
    return _split_by_part("global_time", settings, interactions, part, len(moments) + 1)


def _times(interactions: Interactions) -> np.ndarray:
    if interactions.time is None:
        raise ValueError("interactions must have times to be split by time, got none")
    if not interactions.nnz:
        raise ValueError("interactions must not be empty, got none")
    return interactions.time


def _split_by_part(
    kind: str, settings: dict[str, Any], interactions: Interactions, part: np.ndarray, num_parts: int
) -> Split:
    check_sizes(np.bincount(part, minlength=num_parts).tolist(), "interactions")
    train = interactions.keep(part == 0)
    held_out = [
        HeldOut(interactions.keep(part < number), interactions.keep(part == number)) for number in range(1, num_parts)
    ]
    valid, test = (None, held_out[0]) if num_parts == 2 else held_out
    return describe_split(kind, settings, train, valid, test)
