"""The allocation problem: for every layer one choice, a rank or "whole", such that all budgets are met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

WHOLE = 0  # the choice "leave the layer as it is", beside ranks 1 … R


class BudgetOutOfReach(ValueError):
    """No choice of ranks meets the limits."""


@dataclass(frozen=True)
class LayerChoices:
    """What a layer can become: its triplets' energies σ² in order, and what each choice costs.

    `costs` (R + 1, C) holds the costs of WHOLE first, then those of ranks 1 … R; a choice that is not open costs
    infinity. `shape` is that of the matrix, for rules that look at nothing else.
    """

    name: str
    energies: Float[np.ndarray, " R"]
    costs: Float[np.ndarray, "choices C"]
    shape: tuple[int, int]

    @property
    def rank(self) -> int:
        """The number of triplets."""
        return len(self.energies)

    def kept(self) -> Float[np.ndarray, " choices"]:
        """Return the energy that each choice keeps, WHOLE first."""
        running = np.cumsum(self.energies)
        return np.concatenate([running[-1:], running])

    def open_choices(self) -> np.ndarray:
        """Return the choices that can be made and pay: finite, and not dearer than WHOLE in every cost."""
        affordable = np.isfinite(self.costs).all(axis=1)
        pays = (self.costs < self.costs[WHOLE]).any(axis=1)
        pays[WHOLE] = True
        return np.flatnonzero(affordable & pays)


@dataclass(frozen=True)
class Problem:
    """All layers, what everything else costs, and the limits, in the order of `cost_names`."""

    layers: tuple[LayerChoices, ...]
    fixed: Float[np.ndarray, " C"]
    limits: Float[np.ndarray, " C"]
    cost_names: tuple[str, ...]
    rows: int = 1  # examples that multiply-adds are those of; budgets are told per example

    @property
    def has_steps(self) -> bool:
        """Whether some ranks of a layer are not open, as where only a few have been timed."""
        return any(np.isinf(layer.costs).any() for layer in self.layers)

    def total(self, ranks: Sequence[int]) -> Float[np.ndarray, " C"]:
        """Return what a choice of ranks costs."""
        return self.fixed + sum(
            (layer.costs[rank] for layer, rank in zip(self.layers, ranks, strict=True)), np.zeros(len(self.fixed))
        )

    def is_met(self, ranks: Sequence[int]) -> bool:
        """Say whether a choice of ranks exceeds no limit."""
        return bool((self.total(ranks) <= self.limits).all())

    def objective(self, ranks: Sequence[int]) -> float:
        """Return log Π_i Σ_{j ≤ k_i} σ²_ij, each sum as a share of its whole (equation 2.11)."""
        shares = [layer.kept()[rank] / layer.kept()[WHOLE] for layer, rank in zip(self.layers, ranks, strict=True)]
        return float(np.log(np.maximum(shares, np.finfo(float).tiny)).sum())

    def least(self) -> dict[str, float]:
        """Return the least that any choice of ranks costs, of each cost by itself."""
        cheapest = self.fixed + sum(
            (layer.costs[layer.open_choices()].min(axis=0) for layer in self.layers), np.zeros(len(self.fixed))
        )
        return dict(zip(self.cost_names, map(float, cheapest), strict=True))

    def check_reachable(self) -> None:
        """Refuse a budget below what the cheapest choices cost, and say what that is."""
        for (name, least), limit in zip(self.least().items(), self.limits, strict=True):
            if least > limit:
                rows = self.rows if name == "macs" else 1
                needed = f"{least:.4g}" if name == "milliseconds" else f"{int(np.ceil(least / rows)):,}"
                given = f"{limit:.4g}" if name == "milliseconds" else f"{int(limit // rows):,}"
                raise BudgetOutOfReach(
                    f"budget {name} must be at least {needed}, what the cheapest choice of every layer costs, "
                    f"got {given}"
                )
