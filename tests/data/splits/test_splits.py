from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from split_samples import (
    planted,
)

from gossamer.data import Interactions, LabelledArrays, Split
from gossamer.data.splits import (
    split_global_time,
    split_random,
    split_rows,
    split_user_time,
    split_users,
    split_users_fold,
    split_users_folds,
)


@pytest.mark.parametrize("split", [split_random, split_users, split_user_time])
def test_another_seed_gives_another_split(split: Callable[..., Split]) -> None:
    data = planted()
    assert split(data, random_state=0).train.fingerprint() != split(data, random_state=1).train.fingerprint()


def test_mistakes_are_named() -> None:
    data = planted()
    for call, message in [
        (lambda: split_random(data, (0.8, 0.1)), "fractions must be 2 or 3 positive numbers that add up to 1"),
        (lambda: split_random(data, (1.0,)), "fractions must be a finite number > 0 and < 1, got 1.0"),
        (lambda: split_random(data, (0.5, 0.2, 0.2, 0.1)), "fractions must be 2 or 3 positive numbers"),
        (lambda: split_random(data[:0]), r"at least one of the interactions, got sizes \[0, 0, 0\]"),
        (
            lambda: split_rows(LabelledArrays(np.zeros((2, 1))), (0.9, 0.1)),
            r"at least one of the rows, got sizes \[2, 0\]",
        ),
        (lambda: split_users(data, 20, 20), "must leave training users among the 40, got 20 and 20"),
        (lambda: split_users(data, 0, 0), "num_test must be an integer >= 1, got 0"),
        (lambda: split_users(data, -1, 5), "num_valid must be an integer >= 0, got -1"),
        (lambda: split_users(data, 1.5, 5), "num_valid must be a finite number > 0 and < 1, got 1.5"),
        (lambda: split_users(data, fold_in=1.0), "fold_in must be a finite number > 0 and < 1, got 1.0"),
        (lambda: split_users_folds(data, 1), "num_folds must be an integer >= 2"),
        (lambda: split_users_fold(data, 5, 5), "fold must be an integer >= 0 and <= 4, got 5"),
        (lambda: split_users_fold(data, 0, 1), "num_folds must be an integer >= 2"),
        (lambda: split_users_folds(data, 2, num_valid=30), "num_valid must leave training users in every fold"),
        (
            lambda: split_user_time(Interactions.from_pairs([0, 1], [0, 1])),
            "interactions must have times to be split",
        ),
        (lambda: split_global_time(data, cutoffs=[5, 3]), "cutoffs must be one or two rising times"),
        (lambda: split_global_time(data, (0.5, 0.5), cutoffs=[5]), "fractions must be None where cutoffs are given"),
        (lambda: split_global_time(data, cutoffs=[-5]), r"at least one of the interactions, got sizes \[0, "),
    ]:
        with pytest.raises(ValueError, match=message):
            call()  # type: ignore[no-untyped-call]
    singles = Interactions.from_pairs(range(9), range(9))
    with pytest.raises(ValueError, match="test users must have at least 2 items that occur in training"):
        split_users(singles, 0, 3)
