"""Choose among trained models by λ₁: table 14, the Pareto front of section 3.3 and what figures 4 and 6 show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gossamer.core.checks import check_int, check_real
from gossamer.models.embeddings.objective import objective


@dataclass(frozen=True)
class TrainedRun:
    """What objective (6) needs to know of a trained model: mean loss, entries of T, anchors and its own λ₂."""

    name: str
    loss: float
    nnz: int
    num_anchors: int
    lambda2: float

    def __post_init__(self) -> None:
        check_real("loss", self.loss)
        check_int("nnz", self.nnz, at_least=0)
        check_int("num_anchors", self.num_anchors, at_least=0)
        check_real("lambda2", self.lambda2, above=0)

    def objective(self, lambda1: float) -> float:
        """Return objective (6) at λ₁ and the run's own λ₂, as table 14 does."""
        return objective(self.loss, self.nnz, self.num_anchors, lambda1, self.lambda2)

    @property
    def finite_objective(self) -> float:
        """Loss + λ₂·‖T‖₀, equation (7): what a run with a given number of anchors minimises."""
        return self.loss + self.lambda2 * self.nnz


@dataclass(frozen=True)
class Preference:
    """A run and the λ₁ that prefer it to all others: from `low` to `high`."""

    run: TrainedRun
    low: float
    high: float


def choose_run(runs: Sequence[TrainedRun], lambda1: float) -> TrainedRun:
    """Return the run with the lowest objective (6) at λ₁; among equals the first.

    >>> runs = [TrainedRun("many", 0.70, 9000, 20, 1e-6), TrainedRun("few", 0.75, 5000, 5, 1e-6)]
    >>> choose_run(runs, 1e-4).name, choose_run(runs, 1e-2).name
    ('many', 'few')
    """
    return min(_some(runs), key=lambda run: run.objective(lambda1))


def pareto_front(runs: Sequence[TrainedRun]) -> list[TrainedRun]:
    """Return the runs that no other beats in both loss + λ₂·‖T‖₀ (7) and number of anchors, fewest anchors first."""
    front: list[TrainedRun] = []
    for run in sorted(_some(runs), key=lambda run: (run.num_anchors, run.finite_objective)):
        if not front or run.finite_objective < front[-1].finite_objective:
            front.append(run)
    return front


def preferences(runs: Sequence[TrainedRun]) -> list[Preference]:
    """Return which run each λ₁ prefers, from the smallest λ₁ to infinity.

    Objective (6) of a run is a line in λ₁ with slope K, so the preferred runs are the lower envelope of those lines. It
    begins where all runs are defined, at the largest λ₂ among them. A run of the Pareto front that is above the
    envelope is preferred by no λ₁ and missing here.
    """
    low = max(run.lambda2 for run in _some(runs))

    def intercept(run: TrainedRun) -> float:
        return run.finite_objective - run.lambda2 * run.num_anchors

    # At the left end the lowest line wins, and among equals the one that rises least.
    run = min(runs, key=lambda run: (intercept(run) + run.num_anchors * low, run.num_anchors))
    found = []
    while True:
        crossings = [
            ((intercept(other) - intercept(run)) / (run.num_anchors - other.num_anchors), other.num_anchors, index)
            for index, other in enumerate(runs)
            if other.num_anchors < run.num_anchors
        ]
        high, _, index = min(crossings, default=(math.inf, 0, 0))
        high = max(low, high)  # rounding could put a crossing at `low` just before it
        found.append(Preference(run, low, high))
        if not crossings:
            return found
        low, run = high, runs[index]


def _some(runs: Sequence[TrainedRun]) -> Sequence[TrainedRun]:
    if not runs:
        raise ValueError("runs must be at least one trained run, got none")
    return runs
