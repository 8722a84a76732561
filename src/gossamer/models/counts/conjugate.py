"""Conjugate directions by Polak and Ribière, one per document."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gossamer.models.counts.climbing import dot


@dataclass(frozen=True, eq=False)
class ConjugateDirection:
    """d = y + max(0, β) d_before with β = y·(g − g_before) / (y·g)_before: g a gradient, y the preconditioned one.

    A direction that does not climb is replaced by y.
    """

    gradient: Float[Tensor, "B K"]
    direction: Float[Tensor, "B K"]
    power: Float[Tensor, "B 1"]  # y·g

    @classmethod
    def after(
        cls, before: ConjugateDirection | None, gradient: Float[Tensor, "B K"], preconditioned: Float[Tensor, "B K"]
    ) -> ConjugateDirection:
        """Return the direction that follows `before`: the preconditioned gradient if nothing was before."""
        direction = preconditioned
        if before is not None:
            smallest = torch.finfo(gradient.dtype).tiny
            beta = dot(gradient - before.gradient, preconditioned) / before.power.clamp(min=smallest)
            direction = preconditioned + beta.clamp(min=0) * before.direction
            direction = torch.where(dot(gradient, direction) > 0, direction, preconditioned)
        return cls(gradient, direction, dot(gradient, preconditioned))

    def take(self, rows: Bool[Tensor, " B"]) -> ConjugateDirection:
        """Return the directions of some documents."""
        return ConjugateDirection(self.gradient[rows], self.direction[rows], self.power[rows])
