"""Small allocation problems, and all their answers."""

from __future__ import annotations

import itertools

import numpy as np

from gossamer.models.lowrank.problem import LayerChoices, Problem


def make_problem(seed: int, *, num_layers: int = 3, share: float = 0.5, num_costs: int = 2) -> Problem:
    """Return layers with decaying energies and whole-number costs, and limits at a share of the whole model's cost."""
    rng = np.random.default_rng(seed)
    layers = []
    for number in range(num_layers):
        rows, cols = rng.integers(2, 7, size=2)
        rank = int(min(rows, cols))
        energies = np.sort(rng.exponential(size=rank))[::-1] ** 2 + 1e-3
        repeats = rng.integers(1, 9, size=num_costs)
        ranks = np.arange(1, rank + 1)[:, None]
        costs = np.concatenate([repeats[None] * rows * cols, ranks * repeats * (rows + cols)]).astype(float)
        layers.append(LayerChoices(f"layer {number}", energies, costs, (int(rows), int(cols))))
    fixed = rng.integers(0, 5, size=num_costs).astype(float)
    whole = fixed + sum(layer.costs[0] for layer in layers)
    cheapest = fixed + sum(layer.costs[layer.open_choices()].min(axis=0) for layer in layers)
    limits = np.floor(cheapest + share * (whole - cheapest))
    return Problem(tuple(layers), fixed, limits, ("macs", "params")[:num_costs])


def best_by_enumeration(problem: Problem) -> float:
    """Return the largest objective of all choices that meet the limits; −inf where none does."""
    every = itertools.product(*(range(layer.rank + 1) for layer in problem.layers))
    return max((problem.objective(ranks) for ranks in every if problem.is_met(ranks)), default=-np.inf)
