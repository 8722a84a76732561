from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.data import Interactions
from gossamer.data.splits.parts import check_fractions, check_sizes, cut_points, ranks_in_rows, seed_of


def test_fractions_are_positive_and_whole() -> None:
    assert check_fractions([0.7, 0.2, 0.1]) == (0.7, 0.2, 0.1)
    with pytest.raises(ValueError, match=r"fractions must be 2 positive numbers that add up to 1, got \(0.5, 0.4\)"):
        check_fractions((0.5, 0.4), parts=(2,))


def test_every_part_must_have_something() -> None:
    check_sizes([1, 2], "rows")
    with pytest.raises(ValueError, match=r"fractions must give every part at least one of the rows, got sizes"):
        check_sizes([3, 0], "rows")


@given(st.integers(0, 1000), st.lists(st.floats(0.01, 1), min_size=2, max_size=5))
def test_cuts_are_within_half_of_the_exact_place(count: int, weights: list[float]) -> None:
    fractions = [weight / sum(weights) for weight in weights]
    exact = np.cumsum(fractions)[:-1] * count
    assert np.abs(cut_points(count, fractions) - exact).max() <= 0.5


def test_ranks_count_within_a_row() -> None:
    data = Interactions.from_pairs([0, 0, 0, 1, 1], [0, 1, 2, 0, 1])
    first, second = np.array([5, 1, 1, 2, 3]), np.array([0, 9, 8, 0, 0])
    assert ranks_in_rows(data, first, second).tolist() == [2, 1, 0, 0, 1]


def test_only_a_seed_is_recorded() -> None:
    assert seed_of(7) == 7
    assert seed_of(None) is None
    assert seed_of(np.random.default_rng(0)) is None
