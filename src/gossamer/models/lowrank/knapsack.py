"""POS-CVX: equation 2.12 solved exactly, as a multiple-choice knapsack by `scipy.optimize.milp`.

Singular values are taken in order, so a layer's choice is one rank, and the logarithm of its sum is a constant of that
rank: no commercial solver is needed. "Whole" is one more choice.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from gossamer.models.lowrank.problem import Problem

# The solver's tolerance lets some choices slip by that are beyond a limit. So many of them are excluded one by one, so
# that no other choice is lost, even one that costs the limit to the last bit; after that all limits are tightened.
EXCLUSIONS = 3
TIGHTEN = 1e-7  # of a limit
ATTEMPTS = 12
RELATIVE_GAP = 1e-7  # of the objective: where the solver may stop to prove
# After so many nodes the solver's best choice is taken. Dozens of layers of one shape can be swapped for each other:
# proving that no swap is better takes minutes, long after the best was found. Unlike a limit of time, this one gives
# the same ranks on a busy machine.
NODES = 500
LIMIT_REACHED = 1  # a status of `milp`


def allocate_exactly(problem: Problem, values: list[Float[np.ndarray, " choices"]] | None = None) -> list[int]:
    """Return the rank (or WHOLE) of each layer that maximises the sum of `values` within all limits.

    `values[i]` has one value per choice of layer i, WHOLE first; None is the logarithm of the share of energy kept,
    equation 2.12.

    >>> from gossamer.models.lowrank.problem import LayerChoices
    >>> costs = np.array([[9.0], [3.0], [6.0], [9.0]])
    >>> layer = LayerChoices("a", np.array([4.0, 2.0, 1.0]), costs, (3, 3))
    >>> allocate_exactly(Problem((layer, layer), np.zeros(1), np.array([12.0]), ("macs",)))
    [2, 2]
    """
    problem.check_reachable()
    values = log_shares(problem) if values is None else values
    choices = [layer.open_choices() for layer in problem.layers]
    if not choices:
        return []
    gains = np.concatenate([value[open_] for value, open_ in zip(values, choices, strict=True)])
    costs = np.concatenate([layer.costs[open_] for layer, open_ in zip(problem.layers, choices, strict=True)])
    owner = np.repeat(np.arange(len(choices)), [len(open_) for open_ in choices])
    one_each = sparse.csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))))
    gains = gains / max(float(np.abs(gains).max(initial=0.0)), np.finfo(float).tiny)  # for the solver's tolerances
    room = problem.limits - problem.fixed
    scale = np.maximum(room, np.finfo(float).tiny)  # rows of like size, so that the solver's tolerance is relative
    beyond: list[LinearConstraint] = []
    for attempt in range(EXCLUSIONS + ATTEMPTS):
        tighter = (2 ** max(attempt - EXCLUSIONS, 0) - 1) * TIGHTEN
        within = LinearConstraint((costs / scale).T, -np.inf, (room - tighter * np.abs(problem.limits)) / scale)
        chosen = _solve(gains, [LinearConstraint(one_each, 1, 1), within, *beyond])
        if chosen is None:
            raise ValueError(
                f"budget must leave some choice of ranks that meets {', '.join(problem.cost_names)} together, got "
                f"{problem.limits.tolist()}; each alone could be met, so raise one of them"
            )
        picked = np.flatnonzero(chosen > 0.5)
        ranks = [int(choices[layer][place - np.searchsorted(owner, layer)]) for layer, place in enumerate(picked)]
        if problem.is_met(ranks):
            return ranks
        beyond.append(LinearConstraint((chosen > 0.5).astype(float), -np.inf, len(choices) - 1))
    raise RuntimeError("the solver returned choices beyond the limits again and again")


def _solve(gains: Float[np.ndarray, " n"], constraints: list[LinearConstraint]) -> Float[np.ndarray, " n"] | None:
    """Return the best 0-1 choice that the solver has found, or None if there is none."""
    options = {"mip_rel_gap": RELATIVE_GAP, "node_limit": NODES}
    settings = {"constraints": constraints, "integrality": np.ones(len(gains)), "bounds": Bounds(0, 1)}
    solution = milp(-gains, **settings, options=options)
    if solution.x is None and solution.status == LIMIT_REACHED:  # it has not come to any choice yet
        solution = milp(-gains, **settings)
    chosen: np.ndarray | None = solution.x
    return chosen


def log_shares(problem: Problem) -> list[Float[np.ndarray, " choices"]]:
    """Return log Σ_{j ≤ k} σ²_j of each choice, as a share of the layer's whole (equation 2.11)."""
    tiny = np.finfo(float).tiny
    return [np.log(np.maximum(layer.kept() / max(layer.kept()[0], tiny), tiny)) for layer in problem.layers]


def weighed_shares(problem: Problem, power: float) -> list[Float[np.ndarray, " choices"]]:
    """Return the log shares, each layer's times its energy (as a share of the mean layer's) to a power.

    With power 0 all layers count alike, as in equation 2.11; with 1 a small loss counts as much as it is of the energy
    of all layers together, which has a meaning where energies have one unit.
    """
    energies = np.array([layer.kept()[0] for layer in problem.layers])
    weights = (energies / max(float(energies.mean()), np.finfo(float).tiny)) ** power
    return [weight * value for weight, value in zip(weights, log_shares(problem), strict=True)]
