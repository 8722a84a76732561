"""No rule exceeds a budget, and none has a larger product of sums than the exact solution."""

from __future__ import annotations

import pytest
from allocation_problems import best_by_enumeration, make_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.models.lowrank.heuristics import (
    allocate_by_threshold,
    allocate_by_variation,
    allocate_by_vbmf,
    allocate_greedily,
    allocate_uniformly,
)
from gossamer.models.lowrank.knapsack import allocate_exactly
from gossamer.models.lowrank.problem import WHOLE

RULES = [allocate_greedily, allocate_by_variation, allocate_uniformly, allocate_by_vbmf, allocate_by_threshold]


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 0.5, 0.9]))
def test_budgets_are_met_and_the_exact_solution_is_not_beaten(seed, share):
    problem = make_problem(seed, share=share)
    if best_by_enumeration(problem) == float("-inf"):
        return
    exact = problem.objective(allocate_exactly(problem))
    for rule in RULES:
        ranks = rule(problem)
        assert problem.is_met(ranks), rule.__name__
        assert problem.objective(ranks) <= exact + 1e-5, rule.__name__


@pytest.mark.parametrize("rule", [allocate_greedily, allocate_by_variation, allocate_uniformly])
def test_a_full_budget_leaves_everything_whole(rule):
    assert rule(make_problem(1, share=1.0)) == [WHOLE] * 3


def test_shares_are_as_large_as_the_budget_allows():
    problem = make_problem(5, share=0.5, num_layers=5)
    more = make_problem(5, share=0.8, num_layers=5)
    assert problem.objective(allocate_uniformly(problem)) <= more.objective(allocate_uniformly(more))
    assert problem.objective(allocate_by_variation(problem)) <= more.objective(allocate_by_variation(more))
