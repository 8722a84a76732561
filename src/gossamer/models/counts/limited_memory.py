"""Quasi-Newton directions from the last few steps (L-BFGS), a memory per document, upon a curvature that all share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gossamer.models.counts.climbing import dot

MEMORY = 5
LEAST_SCALE, MOST_SCALE = 0.2, 5.0  # how far a document's curvature may be from the shared one
Precondition = Callable[[Float[Tensor, "B K"]], Float[Tensor, "B K"]]


@dataclass(frozen=True, eq=False)
class LimitedMemory:
    """Steps s and the falls of the gradient y they brought, oldest first; a climb has y·s > 0 where it is concave."""

    steps: tuple[Float[Tensor, "B K"], ...] = ()
    falls: tuple[Float[Tensor, "B K"], ...] = ()

    def after(self, step: Float[Tensor, "B K"], fall: Float[Tensor, "B K"]) -> LimitedMemory:
        """Return the memory with one more step, the oldest forgotten beyond five.

        Where the step was not made, or the objective is convex along it, it is remembered as nothing.
        """
        is_concave = dot(step, fall) > torch.finfo(step.dtype).eps * dot(fall, fall)
        kept = (*self.steps, step * is_concave), (*self.falls, fall * is_concave)
        return LimitedMemory(kept[0][-MEMORY:], kept[1][-MEMORY:])

    def direction(self, gradient: Float[Tensor, "B K"], precondition: Precondition) -> Float[Tensor, "B K"]:
        """Return the inverse curvature of the memory times the gradient; `precondition` stands for what is not in it.

        Two loops over the memory (Nocedal 1980). A direction that does not climb is replaced by the preconditioned
        gradient.
        """
        smallest = torch.finfo(gradient.dtype).tiny
        rest, shares = gradient, []
        for step, fall in zip(reversed(self.steps), reversed(self.falls), strict=True):
            share = dot(step, rest) / dot(step, fall).clamp(min=smallest)
            rest = rest - share * fall
            shares.append(share)
        direction = precondition(rest) * self._scale(precondition)
        for step, fall, share in zip(self.steps, self.falls, reversed(shares), strict=True):
            direction = direction + step * (share - dot(fall, direction) / dot(step, fall).clamp(min=smallest))
        return torch.where(dot(gradient, direction) > 0, direction, precondition(gradient))

    def take(self, rows: Bool[Tensor, " B"]) -> LimitedMemory:
        """Return the memories of some documents."""
        return LimitedMemory(tuple(part[rows] for part in self.steps), tuple(part[rows] for part in self.falls))

    def _scale(self, precondition: Precondition) -> Float[Tensor, "B 1"] | float:
        """Return how much flatter than the shared curvature a document was along its last step."""
        if not self.steps:
            return 1.0
        step, fall = self.steps[-1], self.falls[-1]
        met = dot(fall, precondition(fall))
        is_known = met > 0
        scale = dot(step, fall) / met.clamp(min=torch.finfo(met.dtype).tiny)
        return torch.where(is_known, scale.clamp(LEAST_SCALE, MOST_SCALE), 1.0)
