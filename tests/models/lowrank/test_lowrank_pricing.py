"""Costs of choices: linear ones by hand, times only where they fall."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from gossamer.models.lowrank import pricing
from gossamer.models.lowrank.counting import observe_uses
from gossamer.models.lowrank.factors import factorise
from gossamer.models.lowrank.pricing import make_problem, price_choices
from gossamer.models.lowrank.sites import find_sites


def linear_site():
    model = nn.Sequential(nn.Linear(6, 4))
    sites = find_sites(model, scheme="channel")
    calls = observe_uses(model, sites, ((torch.zeros(5, 6),), None))
    return sites[0], factorise(sites[0].to_matrix(sites[0].weight)), calls


def test_linear_costs_by_hand():
    site, factors, calls = linear_site()
    costs = price_choices(site, factors, ("macs", "params", "bytes"), calls)
    assert costs[0].tolist() == [5 * 24, 24, 96]
    assert costs[3].tolist() == [5 * 3 * 10, 30, 120]


def test_only_ranks_that_are_faster_are_open(monkeypatch):
    site, factors, calls = linear_site()
    monkeypatch.setattr(pricing, "time_choices", lambda *_: np.array([3.0, 2.0, 1.5]))
    monkeypatch.setattr(pricing, "ranks_to_time", lambda *_: [1, 2])
    assert price_choices(site, factors, ("milliseconds",), calls)[:, 0].tolist() == [3.0, 2.0, 2.0, np.inf, np.inf]
    monkeypatch.setattr(pricing, "time_choices", lambda *_: np.array([3.0, 2.0, 3.5]))
    assert price_choices(site, factors, ("milliseconds",), calls)[:, 0].tolist() == [3.0, 2.0, np.inf, np.inf, np.inf]


def test_what_is_not_split_is_fixed():
    site, factors, calls = linear_site()
    problem = make_problem([site], [factors], {"macs": 200.0, "params": 28.0}, {"macs": 100.0, "params": 20.0}, calls)
    assert problem.fixed.tolist() == [80.0, 4.0]
    assert problem.limits.tolist() == [100.0, 20.0]
    assert problem.layers[0].shape == (4, 6)
