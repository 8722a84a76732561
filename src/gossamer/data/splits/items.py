"""Cold start: the items that are tested were never trained on."""

from __future__ import annotations

import numpy as np

from gossamer.core.checks import check_real
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.splits.parts import describe_split, seed_of


def split_items(
    interactions: Interactions, *, valid_share: float = 0.1, test_share: float = 0.1, random_state: RandomState = 0
) -> Split:
    """Hold whole items out, shares of all items; what users did with the others is training data and history.

    Training data do not have the held-out items at all. The held-out parts have all items, so that their features are
    there; a model that knows items by their ids alone can say nothing of them.
    """
    check_real("valid_share", valid_share, above=0, below=1)
    check_real("test_share", test_share, above=0, below=1)
    count = interactions.num_items
    num_valid, num_test = (max(1, round(share * count)) for share in (valid_share, test_share))
    if num_valid + num_test >= count:
        raise ValueError(
            f"valid_share and test_share must leave training items among the {count}, got {num_valid} and {num_test}"
        )
    part = np.zeros(count, dtype=np.int64)
    order = numpy_generator(random_state).permutation(count)
    part[order[:num_valid]] = 1
    part[order[num_valid : num_valid + num_test]] = 2
    of_pair = part[interactions.indices]
    if not all((of_pair == number).any() for number in range(3)):
        raise ValueError("interactions must be with training, validation and test items, got none with one of them")
    history = interactions.keep(of_pair == 0)
    valid, test = (HeldOut(history, interactions.keep(of_pair == number)) for number in (1, 2))
    settings = {"valid_share": valid_share, "test_share": test_share, "seed": seed_of(random_state)}
    return describe_split("items", settings, history.take_items(np.flatnonzero(part == 0)), valid, test)
