"""A listener hears what every loop measures between epochs, and can end the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import nn

from gossamer.data.batching import Batches
from gossamer.training import GradientStep, fit
from gossamer.training.listening import TrainingStopped, goes_on_after, listen_to_epochs


def loss(module: nn.Linear, rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return module(rows[:, None].float()).square().mean()


def train(epochs: int, validated: bool = True, **arguments: object) -> tuple[nn.Linear, int]:
    module = nn.Linear(1, 1)
    step = GradientStep(module, loss, torch.optim.SGD(module.parameters(), lr=0.01))
    batches = Batches(torch.from_numpy, 4, 2, random_state=0)
    validate = (lambda: {"valid_loss": float(module.weight.detach().square())}) if validated else None
    history = fit(step, batches, epochs=epochs, validate=validate, **arguments)  # type: ignore[arg-type]
    return module, len(history.epochs)


def test_the_listener_hears_every_validation_and_nothing_of_the_steps() -> None:
    heard: list[Mapping[str, float]] = []
    with listen_to_epochs(lambda measured: heard.append(measured) or True):  # type: ignore[func-returns-value]
        train(3)
        train(2, validated=False)
    train(1)
    assert [list(measured) for measured in heard] == [["valid_loss"]] * 3


def test_a_listener_ends_the_run_after_an_epoch_that_is_kept(tmp_path: Path) -> None:
    checkpoint = tmp_path / "run.safetensors"
    with listen_to_epochs(lambda _: False), pytest.raises(TrainingStopped, match="stopped from outside after epoch 0"):
        train(5, checkpoint=checkpoint)
    assert goes_on_after({"valid_loss": 1.0})  # nobody listens any more
    assert train(5, checkpoint=checkpoint)[1] == 5  # the first epoch is in the checkpoint


def test_a_run_that_is_heard_learns_the_same() -> None:
    torch.manual_seed(1)
    alone, _ = train(3)
    torch.manual_seed(1)
    with listen_to_epochs(lambda _: True):
        heard, _ = train(3)
    assert torch.equal(alone.weight, heard.weight)
