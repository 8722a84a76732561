"""Rules of section 2.4 that look at singular values only: POS-Greedy, CPTV, uniform, R-VBMF, low-rank recovery."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gossamer.models.lowrank.knapsack import allocate_exactly, log_shares
from gossamer.models.lowrank.noise_ranks import gavish_donoho_rank, vbmf_rank
from gossamer.models.lowrank.problem import WHOLE, LayerChoices, Problem

HALVINGS = 60


def allocate_greedily(problem: Problem) -> list[int]:
    """POS-Greedy: from whole layers on, lower the rank that costs least energy per saving, until all limits are met.

    Savings count for the limits that are still exceeded, each as a share of the excess.
    """
    problem.check_reachable()
    values = log_shares(problem)
    ladders = [np.concatenate([[WHOLE], layer.open_choices()[:0:-1]]) for layer in problem.layers]
    places = [0] * len(ladders)
    ranks = [WHOLE] * len(ladders)
    while not problem.is_met(ranks):
        excess = problem.total(ranks) - problem.limits
        best, best_price = -1, np.inf
        for number, (layer, ladder, place) in enumerate(zip(problem.layers, ladders, places, strict=True)):
            if place + 1 == len(ladder):
                continue
            now, lower = ladder[place], ladder[place + 1]
            saved = (layer.costs[now] - layer.costs[lower])[excess > 0] / excess[excess > 0]
            lost = values[number][now] - values[number][lower]
            # A step that saves nothing yet may lead to one that does: it is only the last resort.
            price = lost / saved.sum() if saved.sum() > 0 else 1e300
            if price < best_price:
                best, best_price = number, price
        if best < 0:  # greed went past the one combination that meets two limits together
            return allocate_exactly(problem)
        places[best] += 1
        ranks[best] = int(ladders[best][places[best]])
    return ranks


def allocate_by_variation(problem: Problem) -> list[int]:
    """CPTV: the largest β such that keeping a share β of every layer's variation (equation 2.10) meets all limits."""

    def ranks_at(share: float) -> list[int]:
        return [
            _settle(layer, max(1, int((np.cumsum(layer.energies) <= share * layer.energies.sum()).sum())))
            for layer in problem.layers
        ]

    return _largest(problem, ranks_at)


def allocate_uniformly(problem: Problem) -> list[int]:
    """Give every layer the same share of its full rank, the largest that meets all limits."""
    return _scaled(problem, [layer.rank for layer in problem.layers])


def allocate_by_vbmf(problem: Problem) -> list[int]:
    """R-VBMF: ranks by variational Bayes, scaled down together where they exceed a limit, never scaled up."""
    return _scaled(problem, [vbmf_rank(np.sqrt(layer.energies), layer.shape) for layer in problem.layers])


def allocate_by_threshold(problem: Problem) -> list[int]:
    """Low-rank signal recovery: ranks by the optimal hard threshold, scaled down together where they exceed a limit."""
    return _scaled(problem, [gavish_donoho_rank(np.sqrt(layer.energies), layer.shape) for layer in problem.layers])


def _scaled(problem: Problem, wanted: Sequence[int]) -> list[int]:
    def ranks_at(share: float) -> list[int]:
        return [_settle(layer, max(1, int(share * rank))) for layer, rank in zip(problem.layers, wanted, strict=True)]

    return _largest(problem, ranks_at)


def _settle(layer: LayerChoices, rank: int) -> int:
    """Return the largest open rank up to `rank`; WHOLE where so high a rank does not pay."""
    ranks = layer.open_choices()[1:]
    if len(ranks) == 0 or rank > ranks[-1]:
        return WHOLE
    lower = ranks[ranks <= rank]
    return int(lower[-1] if len(lower) else ranks[0])


def _largest(problem: Problem, ranks_at: Callable[[float], list[int]]) -> list[int]:
    """Find by bisection the largest share in [0, 1] whose ranks meet all limits."""
    problem.check_reachable()
    if problem.is_met(ranks_at(1.0)):
        return ranks_at(1.0)
    if not problem.is_met(ranks_at(0.0)):  # rank 1 everywhere is not the cheapest where "whole" is cheaper
        return allocate_exactly(problem)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if problem.is_met(ranks_at(middle)) else (low, middle)
    return ranks_at(low)
