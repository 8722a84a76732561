"""Costs and limits of allocations."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.lowrank.problem import WHOLE, LayerChoices, Problem

LAYER = LayerChoices("a", np.array([4.0, 1.0]), np.array([[6.0, 6.0], [4.0, 5.0], [8.0, 9.0]]), (3, 2))


def test_totals_and_limits():
    problem = Problem((LAYER, LAYER), np.array([1.0, 2.0]), np.array([11.0, 13.0]), ("macs", "params"))
    assert problem.total([WHOLE, 1]).tolist() == [11.0, 13.0]
    assert problem.is_met([WHOLE, 1])
    assert not problem.is_met([WHOLE, WHOLE])
    assert problem.objective([WHOLE, 1]) == pytest.approx(np.log(0.8))


def test_a_rank_that_costs_more_than_the_layer_is_no_choice():
    assert LAYER.open_choices().tolist() == [WHOLE, 1]


def test_a_budget_below_the_cheapest_model_is_refused_with_the_minimum():
    problem = Problem((LAYER, LAYER), np.array([1.0, 2.0]), np.array([8.0, 20.0]), ("macs", "params"))
    with pytest.raises(ValueError, match=r"budget macs must be at least 9, what the cheapest choice .*, got 8"):
        problem.check_reachable()
