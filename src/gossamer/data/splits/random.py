"""Random splits: of interactions, and of the rows of any other container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.sentences import Sentences
from gossamer.data.sequences import Sequences
from gossamer.data.splits.parts import check_fractions, check_sizes, cut_points, describe_split, seed_of

Rowwise = TypeVar("Rowwise", Counts, Sentences, Sequences, LabelledArrays)


def split_random(
    interactions: Interactions,
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    *,
    random_state: RandomState = 0,
) -> Split:
    """Split interactions at random into train, valid and test (or train and test, for two fractions).

    All parts keep all users and items, and the history of both held-out parts is the training part.

    >>> data = Interactions.from_pairs([1] * 10, range(10))
    >>> split = split_random(data)
    >>> split.train.nnz, split.valid.target.nnz, split.test.target.nnz
    (8, 1, 1)
    """
    fractions = check_fractions(fractions)
    bounds = [0, *cut_points(interactions.nnz, fractions), interactions.nnz]
    check_sizes(np.diff(bounds).tolist(), "interactions")
    # One byte per interaction, shuffled, where a permutation would take eight.
    part = np.repeat(np.arange(len(fractions), dtype=np.uint8), np.diff(bounds))
    numpy_generator(random_state).shuffle(part)
    train, *held_out = (interactions.keep(part == number) for number in range(len(fractions)))
    valid, test = (None, held_out[0]) if len(held_out) == 1 else held_out
    settings = {"fractions": list(fractions), "seed": seed_of(random_state)}
    return describe_split(
        "random", settings, train, None if valid is None else HeldOut(train, valid), HeldOut(train, test)
    )


def split_rows(
    container: Rowwise, fractions: Sequence[float], *, random_state: RandomState = 0, stratify: bool = False
) -> tuple[Rowwise, ...]:
    """Split the rows of counts, sentences, sequences or arrays at random; each part keeps the order of the rows.

    `stratify` cuts every class at the rounded fractions, so that the parts have the classes in equal proportion.

    >>> parts = split_rows(LabelledArrays(np.zeros((10, 2))), (0.7, 0.3))
    >>> print([len(part) for part in parts])
    [7, 3]
    """
    fractions = check_fractions(fractions, parts=tuple(range(2, len(tuple(fractions)) + 1)) or (2,))
    generator = numpy_generator(random_state)
    classes = _classes(container) if stratify else np.zeros(len(container), dtype=np.int64)
    part = np.empty(len(container), dtype=np.int64)
    for label in np.unique(classes):
        rows = generator.permutation(np.flatnonzero(classes == label))
        part[rows] = np.searchsorted(cut_points(len(rows), fractions), np.arange(len(rows)), side="right")
    check_sizes(np.bincount(part, minlength=len(fractions)).tolist(), "rows")
    return tuple(container[np.flatnonzero(part == number)] for number in range(len(fractions)))


def _classes(container: Any) -> np.ndarray:
    classes: np.ndarray | None = getattr(container, "labels", getattr(container, "targets", None))
    if classes is None or classes.ndim != 1:
        raise ValueError("stratify must be False for data without one class per row, got True")
    return classes
