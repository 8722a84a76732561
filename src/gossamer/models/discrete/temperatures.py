"""How soft relaxed draws are: fixed, falling by plan, or learned, and never below a floor."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

SCHEDULES = ("fixed", "annealed", "learned")


class Temperatures(nn.Module):
    """One temperature per kind of choice (τ for gates and τ_z for features in the paper).

    "annealed" goes from `start` to `floor` in equal ratios over `num_updates`; "learned" follows the gradient, as in
    the paper, held above the floor by a projection after which the gradient can still raise it.
    """

    progress: Tensor

    def __init__(self, num_kinds: int, schedule: str, start: float, floor: float, num_updates: int) -> None:
        super().__init__()
        self.schedule, self.start, self.floor = schedule, start, floor
        self.num_updates = num_updates
        self.register_buffer("progress", torch.zeros(1))
        logs = torch.full((num_kinds,), math.log(max(start, floor)))
        if schedule == "learned":
            self.log_temperatures = nn.Parameter(logs)
        else:
            self.register_buffer("log_temperatures", logs)

    def forward(self) -> Tensor:
        """Return the present temperatures (num_kinds,)."""
        if self.schedule == "learned":
            with torch.no_grad():
                self.log_temperatures.clamp_(min=math.log(self.floor))
        return self.log_temperatures.exp()

    @torch.no_grad()
    def advance(self) -> None:
        """Count one update, and lower the temperatures where there is a plan."""
        self.progress += 1
        if self.schedule == "annealed" and self.start > self.floor:
            share = min(1.0, float(self.progress) / max(1, self.num_updates))
            value = (1 - share) * math.log(self.start) + share * math.log(self.floor)
            self.log_temperatures.fill_(value)
