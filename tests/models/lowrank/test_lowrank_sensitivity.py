"""Measured curves: a planted sensitivity that energies cannot see, budgets, monotone curves, choices within reach."""

from __future__ import annotations

import numpy as np
import pytest
from allocation_problems import make_problem
from hypothesis import given
from hypothesis import strategies as st
from masked_networks import planted

from gossamer.models.lowrank.problem import WHOLE
from gossamer.models.lowrank.search import SearchSettings, first_triplets
from gossamer.models.lowrank.sensitivity import loss_curve, measured_ranks, nearby_choices


def test_ranks_go_to_the_layer_that_matters():
    network, problem = planted()
    start = [3, 3]
    found = measured_ranks(network, problem, start, SearchSettings(iterations=12, measured_rounds=3))
    network.restore()
    assert problem.is_met(found)
    assert found[0] == WHOLE or found[0] > found[1]
    losses = [network.score(first_triplets(ranks, problem).masks, [40, 41]) for ranks in (found, start)]
    assert losses[0] < 0.6 * losses[1]


def test_no_round_leaves_the_start():
    network, problem = planted()
    assert measured_ranks(network, problem, [3, 3], SearchSettings(measured_rounds=0)) == [3, 3]


def test_a_round_that_does_not_help_is_dropped():
    network, problem = planted()
    best = measured_ranks(network, problem, [3, 3], SearchSettings(iterations=12, measured_rounds=3))
    assert measured_ranks(network, problem, best, SearchSettings(iterations=12, measured_rounds=1)) == best


@given(st.integers(0, 200), st.data())
def test_choices_are_open_and_within_reach(seed, data):
    layer = make_problem(seed, num_layers=1).layers[0]
    choices = layer.open_choices().tolist()
    rank = data.draw(st.sampled_from(choices))
    near = nearby_choices(layer, rank)
    assert rank in near
    assert set(near) <= set(choices)
    if rank != WHOLE:
        assert all(choice == WHOLE or rank / 2 - 1 <= choice <= 2 * rank + 1 for choice in near)


@given(st.integers(0, 200), st.lists(st.floats(-1, 1), min_size=6, max_size=6))
def test_curves_rise_with_what_is_lost_and_end_where_nothing_was_measured(seed, noise):
    layer = make_problem(seed, num_layers=1).layers[0]
    choices = layer.open_choices()
    changes = dict(zip(choices.tolist(), noise, strict=False))
    narrow, losses = loss_curve(layer, changes)
    by_rank = losses[1:]  # ranks 1 … R lose less and less
    assert (np.diff(by_rank) <= 1e-12).all()
    measured = sorted(changes)
    is_open = np.isfinite(narrow.costs).all(axis=1)
    assert is_open[measured].all()
    largest = max(changes)
    assert not is_open[largest + 1 :].any() or WHOLE in changes


def test_a_curve_goes_through_what_was_measured():
    layer = make_problem(3, num_layers=1).layers[0]
    ranks = [int(choice) for choice in layer.open_choices() if choice != WHOLE]
    changes = {rank: 1.0 / rank for rank in ranks}
    _, losses = loss_curve(layer, changes)
    assert losses[ranks].tolist() == pytest.approx([1.0 / rank for rank in ranks])
