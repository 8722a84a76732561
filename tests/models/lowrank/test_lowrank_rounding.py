"""Rounded ranks meet every budget and stay near their sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from allocation_problems import make_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.models.lowrank.knapsack import allocate_exactly
from gossamer.models.lowrank.problem import WHOLE, LayerChoices, Problem
from gossamer.models.lowrank.rounding import fill_ranks, keep_triplets, nearest_ranks, round_ranks


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


def steps(rank: int, price: float, *, every: int) -> LayerChoices:
    """Return a layer of which every so-manieth rank is open, and whole at the price of all."""
    ranks = np.arange(1, rank + 1)
    costs = np.where(ranks % every == 0, price * ranks, np.inf)
    return LayerChoices("a", np.ones(rank), np.concatenate([[price * rank * 1.5], costs])[:, None], (99, 99))


def masks_of(*sums: float, rank: int = 12) -> list[np.ndarray]:
    return [np.clip(total - np.arange(rank), 0, 1) for total in sums]


@settings(max_examples=60)
@given(
    prices=st.lists(st.floats(0.5, 4), min_size=3, max_size=3),
    sums=st.lists(st.floats(0.5, 11.5), min_size=3, max_size=3),
    every=st.integers(1, 4),
    share=st.floats(0.4, 1),
)
def test_nearest_ranks_are_the_best_of_all(prices, sums, every, share):
    layers = tuple(steps(12, price, every=every) for price in prices)
    limit = share * sum(12 * price for price in prices)
    problem = Problem(layers, np.zeros(1), np.array([limit]), ("milliseconds",))
    assert problem.has_steps == (every > 1)
    masks = masks_of(*sums)
    open_ranks = [np.array([WHOLE, *(np.arange(1, 13)[np.arange(1, 13) % every == 0])])] * 3

    def value(ranks):
        costs = [price * max(total, every) if total <= 12 else 0.0 for price, total in zip(prices, sums, strict=True)]
        return sum(cost * np.log(12 if rank == WHOLE else rank) for cost, rank in zip(costs, ranks, strict=True))

    best = max(value(ranks) for ranks in itertools.product(*open_ranks) if problem.is_met(ranks))
    found = nearest_ranks(masks, problem)
    assert problem.is_met(found)
    assert value(found) == pytest.approx(best, abs=1e-4)


def test_without_steps_sums_that_cost_the_budget_are_kept():
    layers = (steps(12, 1.0, every=1), steps(12, 3.0, every=1))
    problem = Problem(layers, np.array([2.0]), np.array([2.0 + 8 + 3 * 5]), ("macs",))
    assert nearest_ranks(masks_of(8, 5), problem) == [8, 5]


def test_steps_are_taken_where_others_leave_room():
    """Rounded down alone, both layers would get 4 and a third of the budget would be left."""
    layers = (steps(12, 1.0, every=4), steps(12, 1.0, every=4))
    problem = Problem(layers, np.zeros(1), np.array([12.0]), ("milliseconds",))
    assert nearest_ranks(masks_of(5.9, 5.8), problem) == [8, 4]


def test_layers_that_stay_whole_stay_whole():
    layers = (steps(12, 1.0, every=4), steps(12, 1.0, every=4))
    problem = Problem(layers, np.zeros(1), np.array([18 + 8.0]), ("milliseconds",))
    assert nearest_ranks([None, *masks_of(11.0)], problem) == [WHOLE, 8]


def test_triplets_are_kept_by_mask_times_value():
    assert keep_triplets(np.array([0.2, 1.0, 1.0]), np.array([9.0, 4.0, 1.0]), 2).tolist() == [1, 2]
