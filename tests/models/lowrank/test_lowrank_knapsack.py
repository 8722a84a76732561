"""POS-CVX is exact: no enumeration finds better, no budget is exceeded."""

from __future__ import annotations

import numpy as np
import pytest
from allocation_problems import best_by_enumeration, make_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult, milp

from gossamer.models.lowrank import knapsack
from gossamer.models.lowrank.heuristics import allocate_greedily
from gossamer.models.lowrank.knapsack import allocate_exactly, weighed_shares
from gossamer.models.lowrank.problem import WHOLE, LayerChoices, Problem


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.3, 0.6, 1.0]), st.integers(1, 2))
def test_the_knapsack_is_as_good_as_enumeration(seed, share, num_costs):
    problem = make_problem(seed, share=share, num_costs=num_costs)
    best = best_by_enumeration(problem)
    if best == -np.inf:
        with pytest.raises(ValueError, match="budget must leave some choice of ranks that meets macs, params together"):
            allocate_exactly(problem)
        return
    ranks = allocate_exactly(problem)
    assert problem.is_met(ranks)
    assert problem.objective(ranks) == pytest.approx(best, abs=1e-5)


def test_a_full_budget_leaves_everything_whole():
    problem = make_problem(3, share=1.0)
    assert allocate_exactly(problem) == [WHOLE] * 3


def test_own_values_replace_the_energies():
    layer = LayerChoices("a", np.array([4.0, 2.0]), np.array([[9.0], [3.0], [6.0]]), (3, 3))
    problem = Problem((layer, layer), np.zeros(1), np.array([12.0]), ("macs",))
    dear = np.array([5.0, 0.0, 1.0])
    assert allocate_exactly(problem, [dear, dear / 10]) == [WHOLE, 1]


def test_layers_count_by_their_energies_to_a_power():
    costs = np.array([[9.0], [3.0], [6.0], [9.0]])
    energies = np.array([4.0, 2.0, 1.0])
    strong, weak = LayerChoices("a", 50 * energies, costs, (3, 3)), LayerChoices("b", energies, costs, (3, 3))
    problem = Problem((strong, weak), np.zeros(1), np.array([12.0]), ("macs",))
    assert allocate_exactly(problem, weighed_shares(problem, 0)) == allocate_exactly(problem) == [2, 2]
    assert allocate_exactly(problem, weighed_shares(problem, 1)) == [WHOLE, 1]
    ratio = weighed_shares(problem, 0.5)[0][1] / weighed_shares(problem, 0.5)[1][1]
    assert ratio == pytest.approx(np.sqrt(50))


def test_choices_that_are_closed_are_not_taken():
    layer = LayerChoices("a", np.array([4.0, 2.0]), np.array([[9.0], [3.0], [np.inf]]), (3, 3))
    assert allocate_exactly(Problem((layer,), np.zeros(1), np.array([7.0]), ("milliseconds",))) == [1]


def test_a_choice_beyond_the_limit_by_one_bit_does_not_cost_another_that_is_at_the_limit():
    """(6, 9, 3) costs 7e-15 too much, more than a solver sees; (6, 6, 6) costs the limit, to the last bit."""
    prices, ranks = (1.1102714000896192, 3.110271400089619, 3.110271400089619), np.arange(1, 13)
    layers, values = [], []
    for price, weight in zip(prices, (3, 6, 3), strict=True):
        costs = np.where(ranks % 3 == 0, price * ranks, np.inf)
        layers.append(LayerChoices("a", np.ones(12), np.concatenate([[price * 18], costs])[:, None], (99, 99)))
        values.append(price * weight * np.log(np.concatenate([[12], ranks])))
    problem = Problem(tuple(layers), np.zeros(1), np.array([6 * sum(prices)]), ("milliseconds",))
    assert problem.total([6, 9, 3]) > problem.limits
    assert problem.total([6, 6, 6]) == problem.limits
    assert allocate_exactly(problem, values) == [6, 6, 6]


def test_nothing_to_choose():
    assert allocate_exactly(Problem((), np.zeros(1), np.ones(1), ("macs",))) == []


def test_dozens_of_layers_of_one_shape_do_not_take_for_ever():
    """To prove that no swap of equal layers is better would take minutes; what is found is no worse than greedy's."""
    rng = np.random.default_rng(0)
    ranks = np.arange(1, 41)[:, None]
    costs = np.concatenate([[[1440.0, 1440.0]], ranks * [96.0, 96.0]])
    layers = tuple(
        LayerChoices(f"layer {number}", np.sort(rng.exponential(size=40))[::-1] ** 2, costs, (48, 48))
        for number in range(40)
    )
    limits = np.array([0.301, 0.299]) * 40 * 1440
    problem = Problem(layers, np.zeros(2), np.floor(limits), ("macs", "params"))
    found = allocate_exactly(problem)
    assert problem.is_met(found)
    assert problem.objective(found) >= problem.objective(allocate_greedily(problem))
    assert allocate_exactly(problem) == found


def test_a_solver_that_stops_before_it_has_found_anything_goes_on(monkeypatch):
    problem = make_problem(1, share=0.6)
    expected = allocate_exactly(problem)
    asked = []

    def stop_once(*arguments, options=None, **settings):
        asked.append(options)
        return OptimizeResult(x=None, status=1) if options else milp(*arguments, **settings)

    monkeypatch.setattr(knapsack, "milp", stop_once)
    assert problem.objective(allocate_exactly(problem)) == pytest.approx(problem.objective(expected))
    assert asked[1] is None
