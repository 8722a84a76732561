from __future__ import annotations

from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from gossamer.models.counts.averaging import WARM_UP, AveragedStep
from gossamer.training.checkpoint import copy_state


class Walk:
    """A step that sets the weights of its network to the batch, and counts in a buffer."""

    def __init__(self) -> None:
        self.network = nn.BatchNorm1d(2)
        self.num_calls = 0

    def setup(self, fabric: Fabric) -> None:
        self.network.to(fabric.device)

    def __call__(self, batch: Tensor, weight: float) -> dict[str, float]:
        with torch.no_grad():
            self.network.weight.copy_(batch)
            self.network.running_mean.add_(weight)
        self.num_calls += 1
        return {"loss": float(self.num_calls)}

    def state_dict(self) -> dict[str, Any]:
        return {"network": dict(self.network.state_dict()), "num_calls": self.num_calls}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.num_calls = state["num_calls"]


def points(count: int) -> list[Tensor]:
    return list(torch.randn(count, 2, generator=torch.Generator().manual_seed(0)))


def expected_average(walked: list[Tensor], decay: float) -> Tensor:
    mean = torch.ones(2, dtype=torch.float64)  # where the network begins
    for update, point in enumerate(walked):
        kept = min(decay, update / (update + WARM_UP))
        mean = kept * mean + (1 - kept) * point.double()
    return mean


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.99])
def test_the_average_is_that_of_the_formula(decay: float):
    walk, walked = Walk(), points(40)
    step = AveragedStep(walk, walk.network, decay)
    step.setup(Fabric(accelerator="cpu"))
    losses = [step(point, 1.0)["loss"] for point in walked]
    assert losses == list(range(1, 41)), "the step's own scalars"
    torch.testing.assert_close(step.averaged.weight.double(), expected_average(walked, decay), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(step.averaged.running_mean, walk.network.running_mean, rtol=0, atol=0)
    torch.testing.assert_close(walk.network.weight.data, walked[-1], rtol=0, atol=0)
    assert not step.averaged.weight.requires_grad
    assert not step.averaged.training


def test_without_decay_it_is_the_network_itself():
    walk = Walk()
    step = AveragedStep(walk, walk.network, 0.0)
    for point in points(3):
        step(point, 1.0)
    assert torch.equal(step.averaged.weight, walk.network.weight)


def test_a_state_brings_everything_back():
    walk = Walk()
    step, walked = AveragedStep(walk, walk.network, 0.9), points(30)
    for point in walked[:20]:
        step(point, 1.0)
    state = copy_state(step.state_dict())
    for point in walked[20:]:
        step(point, 1.0)
    other = Walk()
    resumed = AveragedStep(other, other.network, 0.9)
    resumed.load_state_dict(state)
    for point in walked[20:]:
        resumed(point, 1.0)
    assert torch.equal(resumed.averaged.weight, step.averaged.weight)
    assert other.num_calls == 30


@pytest.mark.parametrize("decay", [1.0, -0.1, float("nan"), "much"])
def test_a_bad_decay_is_named(decay: object):
    walk = Walk()
    with pytest.raises(ValueError, match=r"^decay must be a finite number >= 0 and < 1, got "):
        AveragedStep(walk, walk.network, decay)  # type: ignore[arg-type]
