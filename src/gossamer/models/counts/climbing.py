"""How a block of documents climbs: step by step, no row ever down, rows that have arrived leaving early."""

from __future__ import annotations

from typing import Protocol, Self

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gossamer.models.counts.posterior import Posterior

SHRINK, MAX_TRIALS = 0.25, 3  # a step that lowers the objective is shortened so often, the last time to nothing


class Climb(Protocol):
    """Some documents on their way, each with an objective of its own."""

    def step(self, number: int) -> Float[Tensor, " B"]:
        """Make step 1, 2, … and return what each document has gained, in nats."""

    def take(self, rows: Bool[Tensor, " B"]) -> Self:
        """Return some of the documents, where they are."""

    def posterior(self) -> Posterior:
        """Return means and variances where they are."""


def climb_up(climb: Climb, num_rows: int, num_steps: int, tolerance: float | None, fewest_steps: int = 1) -> Posterior:
    """Make `num_steps` steps, or fewer with rows that gain no more than `tolerance` from step `fewest_steps` on."""
    rows = torch.arange(num_rows)
    ended: list[tuple[Tensor, Posterior]] = []
    for number in range(1, num_steps + 1):
        gain = climb.step(number)
        if tolerance is None or not fewest_steps <= number < num_steps:
            continue
        ends = gain <= tolerance
        if bool(ends.any()):
            ended.append((rows[ends.cpu()], climb.take(ends).posterior()))
            rows, climb = rows[~ends.cpu()], climb.take(~ends)
            if not len(rows):
                break
    if len(rows):
        ended.append((rows, climb.posterior()))
    order = torch.cat([numbers for numbers, _ in ended]).argsort()
    mean = torch.cat([posterior.mean for _, posterior in ended])[order]
    return Posterior(mean, torch.cat([posterior.log_variance for _, posterior in ended])[order])


def fell(value: Float[Tensor, "B 1"], before: Float[Tensor, "B 1"]) -> Bool[Tensor, " B"]:
    """Say which values are lower than before by more than rounding, or no numbers at all."""
    slack = 8 * torch.finfo(value.dtype).eps * before.abs()
    return ~((value >= before - slack) & value.isfinite()).squeeze(1)


def dot(left: Float[Tensor, "B K"], right: Float[Tensor, "B K"]) -> Float[Tensor, "B 1"]:
    """Return the inner product of each row."""
    return (left * right).sum(dim=1, keepdim=True)
