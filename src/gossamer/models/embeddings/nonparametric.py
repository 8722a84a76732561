"""NBANT: the number of anchors learned in one run, by the trend of objective (6) from epoch to epoch (algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

from gossamer.core.checks import check_int
from gossamer.models.embeddings.objective import check_lambdas, objective

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from gossamer.training.step import Step


class AnchorCount:
    """How many anchors there should be, given the objective of every epoch so far (lines 9 to 16 of algorithm 2).

    If the objective fell in each of the last `window` − 1 epochs there are `change` anchors more, if it rose in each
    `change` fewer, between `at_least` and `at_most`; otherwise the number stays. With a negative `change` anchors go
    while the objective falls, and return when it rises: then begin with many. `change=0` never changes the number.

    >>> count = AnchorCount(10, change=2, window=3, at_most=30)
    >>> [count.update(value) for value in (5.0, 4.0, 3.0, 2.0, 2.5, 3.5)]
    [10, 10, 12, 14, 14, 12]
    """

    def __init__(self, start: int = 10, *, change: int = 2, window: int = 3, at_least: int = 1, at_most: int) -> None:
        self.at_least = check_int("at_least", at_least, at_least=1)
        self.at_most = check_int("at_most", at_most, at_least=at_least)
        self.number = check_int("start", start, at_least=at_least, at_most=at_most)
        self.change = check_int("change", change)
        self.window = check_int("window", window, at_least=2)
        self.recent: list[float] = []

    def update(self, value: float) -> int:
        """Take note of an epoch's objective and return the number of anchors for the next epoch."""
        if not math.isfinite(value):
            raise FloatingPointError(f"the objective is {value}: it has no trend")
        self.recent = [*self.recent, value][-self.window :]
        trend = _trend(self.recent) if len(self.recent) == self.window else 0
        self.number = min(max(self.number - trend * self.change, self.at_least), self.at_most)
        return self.number

    def state_dict(self) -> dict[str, Any]:
        """Return the present number and the values that its next change depends on."""
        return {"number": self.number, "recent": list(self.recent)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Return to a state."""
        self.number, self.recent = int(state["number"]), list(state["recent"])


class AnchorSet(Protocol):
    """The anchors of one table while it is trained: they can be counted and switched off and on."""

    @property
    def num_active(self) -> int:
        """How many anchors are in use."""

    def nnz(self) -> int:
        """Return the number of entries of T."""

    def switch(self, number: int) -> None:
        """Use `number` anchors; those that are switched off keep their values for when they return."""

    def state_dict(self) -> dict[str, Any]:
        """Return what the step's own state does not hold."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Return to a state; the step is loaded next."""


class NonparametricStep:
    """Any step on a model with anchors, whose numbers follow an `AnchorCount`, the same in every table.

    `measure` belongs into the loop's `validate`; the number that it decides on takes effect with the next update, after
    the loop has kept what was measured:

        step = NonparametricStep(GradientStep(network, loss, optimiser), anchor_sets, count, lambda1=…, lambda2=…)
        fit(step, batches, epochs=50, validate=lambda: step.measure(validation_loss()), monitor="objective")
    """

    def __init__(
        self, step: Step, anchor_sets: Sequence[AnchorSet], count: AnchorCount, *, lambda1: float, lambda2: float
    ) -> None:
        check_lambdas(lambda1, lambda2)
        self.step = step
        self.anchor_sets = list(anchor_sets)
        self.count = count
        self.lambda1 = lambda1
        self.lambda2 = lambda2

    def setup(self, fabric: Fabric) -> None:
        """Set up the inner step."""
        self.step.setup(fabric)

    def __call__(self, batch: Any, weight: float) -> Mapping[str, float | Tensor]:
        """Bring every table to the number of anchors that was decided on, and make one update."""
        for anchors in self.anchor_sets:
            if anchors.num_active != self.count.number:
                anchors.switch(self.count.number)
        return self.step(batch, weight)

    def measure(self, loss: float) -> dict[str, float]:
        """Return objective (6) of the present model, given its mean loss, and decide on the next number of anchors."""
        nnz = sum(anchors.nnz() for anchors in self.anchor_sets)
        num_anchors = sum(anchors.num_active for anchors in self.anchor_sets)
        value = objective(loss, nnz, num_anchors, self.lambda1, self.lambda2)
        self.count.update(value)
        return {"objective": value, "nnz": nnz, "num_anchors": num_anchors}

    def state_dict(self) -> dict[str, Any]:
        """Return the inner step's state, that of the anchors, and the number decided on."""
        return {
            "step": self.step.state_dict(),
            "anchor_sets": [anchors.state_dict() for anchors in self.anchor_sets],
            "count": self.count.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Return to a state, exactly."""
        for anchors, own in zip(self.anchor_sets, state["anchor_sets"], strict=True):
            anchors.load_state_dict(own)
        self.step.load_state_dict(state["step"])
        self.count.load_state_dict(state["count"])


def _trend(values: Sequence[float]) -> int:
    """Return −1 for values that fall at every step, 1 for values that rise, 0 for all others."""
    changes = [later - earlier for earlier, later in pairwise(values)]
    return all(change > 0 for change in changes) - all(change < 0 for change in changes)
