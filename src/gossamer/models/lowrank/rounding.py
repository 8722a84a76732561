"""From soft masks to ranks that meet every budget (equation 2.9), and the triplets that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gossamer.models.lowrank.knapsack import allocate_exactly
from gossamer.models.lowrank.problem import WHOLE, LayerChoices, Problem

ATTEMPTS = 200


def round_ranks(
    masks: Sequence[Float[np.ndarray, " R"] | None], problem: Problem, rng: np.random.Generator
) -> list[int]:
    """Round Σ_j m_ij up or down at random, with the fraction for probability, until all limits are met.

    None in the place of masks is a layer that stays whole. Where no draw meets the limits, the sums are shrunk little
    by little. What is left of the budgets afterwards goes to the layers whose sums were cut most.
    """
    sums = [None if mask is None else float(mask.sum()) for mask in masks]
    shrink = 1.0
    for attempt in range(ATTEMPTS):
        ranks = [
            WHOLE if total is None else _pick(layer, shrink * total, rng)
            for layer, total in zip(problem.layers, sums, strict=True)
        ]
        if problem.is_met(ranks):
            return fill_ranks(ranks, sums, problem)
        shrink = 1.0 - (attempt + 1) / ATTEMPTS  # ends at rank 1 everywhere
    raise ValueError(
        f"budget must allow rank 1 of the layers that are not whole, got {problem.limits.tolist()} for "
        f"{', '.join(problem.cost_names)}"
    )


def nearest_ranks(masks: Sequence[Float[np.ndarray, " R"] | None], problem: Problem) -> list[int]:
    """Return the choices within all limits that maximise Σ_i c_i log k_i: of all layers at once, and exactly.

    c_i is what layer i costs at its sum s_i = Σ_j m_ij. If all ranks were open and costs linear in them, the best
    within what the sums cost would be k_i = s_i. Where only few ranks are open, as of milliseconds, layers that are
    rounded one by one leave much of a budget to nobody. None in the place of masks is a layer that stays whole.
    """
    split = [place for place, mask in enumerate(masks) if mask is not None]
    layers = [problem.layers[place] for place in split]
    ranks = [WHOLE] * len(masks)
    fixed = sum((problem.layers[place].costs[WHOLE] for place, mask in enumerate(masks) if mask is None), problem.fixed)
    room = np.maximum(problem.limits - fixed, np.finfo(float).tiny)
    values = []
    for place, layer in zip(split, layers, strict=True):
        weight = float((_costs_at(layer, float(masks[place].sum())) / room).sum())  # type: ignore[union-attr]
        values.append(weight * np.log(np.concatenate([[layer.rank], np.arange(1, layer.rank + 1)])))
    open_part = Problem(tuple(layers), fixed, problem.limits, problem.cost_names, problem.rows)
    for place, rank in zip(split, allocate_exactly(open_part, values), strict=True):
        ranks[place] = rank
    return ranks


def _costs_at(layer: LayerChoices, total: float) -> Float[np.ndarray, " C"]:
    """Return the costs of a rank that need be neither whole nor open, between those of the open ones around it."""
    choices = layer.open_choices()[1:]
    known = np.concatenate([choices, [layer.rank]])
    costs = np.concatenate([layer.costs[choices], layer.costs[[WHOLE]]])
    return np.array([np.interp(total, known, column) for column in costs.T])


def fill_ranks(ranks: Sequence[int], sums: Sequence[float | None], problem: Problem) -> list[int]:
    """Spend what is left: raise ranks one by one, those furthest below their sums first, while limits are met."""
    filled = list(ranks)
    spent = problem.total(filled)
    blocked: set[int] = set()
    while True:
        wishes = [
            (float(total - rank), number)
            for number, (rank, total) in enumerate(zip(filled, sums, strict=True))
            if total is not None and rank != WHOLE and number not in blocked
        ]
        if not wishes:
            return filled
        _, number = max(wishes)
        layer = problem.layers[number]
        higher = _next_choice(layer, filled[number])
        after = spent - layer.costs[filled[number]] + (layer.costs[higher] if higher is not None else np.inf)
        if higher is None or (after > problem.limits).any():
            blocked.add(number)
            continue
        filled[number], spent = higher, after


def keep_triplets(masks: Float[np.ndarray, " R"], energies: Float[np.ndarray, " R"], rank: int) -> np.ndarray:
    """Return in order the `rank` triplets with the largest m_j σ_j.

    >>> keep_triplets(np.array([1.0, 0.1, 0.9]), np.array([4.0, 3.0, 2.0]), 2).tolist()
    [0, 2]
    """
    order = np.argsort(-masks * np.sqrt(energies), kind="stable")
    return np.sort(order[:rank])


def _pick(layer: LayerChoices, total: float, rng: np.random.Generator) -> int:
    floor = int(np.floor(total))
    rank = max(1, floor + int(rng.random() < total - floor))
    open_ranks = layer.open_choices()[1:]
    if len(open_ranks) == 0 or rank > open_ranks[-1]:
        return WHOLE  # so high a rank costs more than the layer itself
    lower = open_ranks[open_ranks <= rank]
    return int(lower[-1] if len(lower) else open_ranks[0])


def _next_choice(layer: LayerChoices, rank: int) -> int | None:
    """Return the next higher open rank, then WHOLE, then None."""
    higher = layer.open_choices()
    higher = higher[higher > rank]
    return int(higher[0]) if len(higher) else WHOLE
