"""Rounded ranks meet every budget and stay near their sums."""

from __future__ import annotations

import numpy as np
import pytest
from allocation_problems import make_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.models.lowrank.knapsack import allocate_exactly
from gossamer.models.lowrank.problem import WHOLE, LayerChoices, Problem
from gossamer.models.lowrank.rounding import fill_ranks, keep_triplets, round_ranks


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_budgets_are_met(seed):
    problem = make_problem(seed, share=0.6)
    try:
        start = allocate_exactly(problem)
    except ValueError:
        return
    rng = np.random.default_rng(seed)
    masks = [
        None if rank == WHOLE else np.clip((np.arange(layer.rank) < rank) + rng.normal(size=layer.rank) / 10, 0, 1)
        for layer, rank in zip(problem.layers, start, strict=True)
    ]
    ranks = round_ranks(masks, problem, rng)
    assert problem.is_met(ranks)
    assert all(rank == WHOLE for rank, mask in zip(ranks, masks, strict=True) if mask is None)


def test_fractions_are_probabilities():
    costs = np.array([[100.0]] + [[float(rank)] for rank in range(1, 6)])
    problem = Problem((LayerChoices("a", np.ones(5), costs, (10, 10)),), np.zeros(1), np.array([5.0]), ("macs",))
    rng = np.random.default_rng(0)
    no_fill = Problem(problem.layers, np.zeros(1), np.array([3.0]), ("macs",))
    drawn = [round_ranks([np.array([1, 1, 0.25, 0, 0])], no_fill, rng)[0] for _ in range(20)]
    assert set(drawn) == {3}  # what rounding down leaves is spent
    assert fill_ranks([2], [2.25], problem) == [5]


def test_a_layer_that_stays_whole_may_make_rounding_impossible():
    costs = np.array([[10.0], [4.0], [8.0]])
    layer = LayerChoices("a", np.ones(2), costs, (5, 5))
    problem = Problem((layer, layer), np.zeros(1), np.array([13.0]), ("macs",))
    with pytest.raises(ValueError, match="budget must allow rank 1 of the layers that are not whole"):
        round_ranks([None, np.ones(2)], problem, np.random.default_rng(0))


def test_triplets_are_kept_by_mask_times_value():
    assert keep_triplets(np.array([0.2, 1.0, 1.0]), np.array([9.0, 4.0, 1.0]), 2).tolist() == [1, 2]
