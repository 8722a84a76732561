"""A network whose weights are the running mean of those that training passes through."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gossamer.core.checks import check_real

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from gossamer.training.step import Step

WARM_UP = 10  # updates


class AveragedStep:
    """Any step, and behind it `averaged`, a copy of its network that follows at a distance.

    After update t the copy is d·copy + (1 − d)·network with d = min(`decay`, t / (t + 10)): the beginning, which is
    nobody's estimate, is forgotten fast, and later about the last 1 / (1 − decay) updates count. A `decay` of 0 makes
    the copy equal to the network. Buffers are copied. The average takes no part in training. It is taken over all
    weights at every update, so row-sparse gradients save nothing here.
    """

    def __init__(self, step: Step, network: nn.Module, decay: float) -> None:
        self.step = step
        self.network = network
        self.decay = check_real("decay", decay, at_least=0, below=1)
        self.averaged = deepcopy(network).requires_grad_(False).eval()
        self.num_updates = 0

    def setup(self, fabric: Fabric) -> None:
        """Move both networks to the device of `fabric`."""
        self.step.setup(fabric)
        self.averaged.to(fabric.device)

    def __call__(self, batch: Any, weight: float) -> Mapping[str, float | Tensor]:
        """Make the step's own update, then let the average follow."""
        scalars = self.step(batch, weight)
        self.network.eval()  # a row-sparse optimiser brings its rows up to date; a step sets training mode itself
        decay = min(self.decay, self.num_updates / (self.num_updates + WARM_UP))
        with torch.no_grad():
            for mean, value in zip(self.averaged.parameters(), self.network.parameters(), strict=True):
                mean.lerp_(value, 1 - decay)
            for kept, buffer in zip(self.averaged.buffers(), self.network.buffers(), strict=True):
                kept.copy_(buffer)
        self.num_updates += 1
        return scalars

    def state_dict(self) -> dict[str, Any]:
        """Return the step's state, the average and how many updates are in it."""
        return {
            "step": self.step.state_dict(),
            "averaged": dict(self.averaged.state_dict()),
            "num_updates": self.num_updates,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Return to a state, exactly."""
        self.step.load_state_dict(state["step"])
        self.averaged.load_state_dict(state["averaged"])
        self.num_updates = state["num_updates"]
