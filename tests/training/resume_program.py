"""Trains a small network with everything that has state; run by test_resume.py in processes that get killed.

Arguments: folder for checkpoint and log, and after how many batches to send SIGKILL to itself (0: never).
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from gossamer.data.batching import Batches
from gossamer.training import GradientStep, History, fit
from gossamer.training.checkpoint import write_checkpoint

NUM_EXAMPLES, BATCH_SIZE, EPOCHS = 50, 6, 5


def training_data() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(NUM_EXAMPLES, 4, generator=generator)
    return inputs, inputs.sum(1, keepdim=True).tanh() + 0.1 * torch.randn(NUM_EXAMPLES, 1, generator=generator)


def make_step() -> GradientStep:
    """Dropout, batch norm's buffers, momentum, a schedule, clipping and noise from the step's generator."""
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 1))
    generator = torch.Generator().manual_seed(1)
    for parameter in module.parameters():
        parameter.data = 0.5 * torch.randn(parameter.shape, generator=generator)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)

    def loss(module: nn.Module, batch: tuple[Tensor, Tensor], generator: torch.Generator) -> dict[str, Tensor]:
        inputs, targets = batch
        noise = 0.1 * torch.randn(inputs.shape, generator=generator)
        error = (module(inputs + noise) - targets).square().mean()
        return {"loss": error, "noise": noise.square().mean()}

    return GradientStep(
        module,
        loss,
        optimiser,
        scheduler=torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=45),
        clip_norm=1.0,
        random_state=3,
    )


def train(folder: Path, step: GradientStep, on_batch=lambda: None, **options) -> History:
    inputs, targets = training_data()

    def collate(rows: np.ndarray) -> tuple[Tensor, Tensor]:
        on_batch()
        return inputs[rows], targets[rows]

    def validate() -> dict[str, float]:
        step.module.eval()
        with torch.no_grad():
            return {"valid_mse": (step.module(inputs[:10]) - targets[:10]).square().mean().item()}

    return fit(
        step,
        Batches(collate, NUM_EXAMPLES, BATCH_SIZE, random_state=5),
        epochs=EPOCHS,
        validate=validate,
        monitor="valid_mse",
        patience=2,
        log=folder / "log.jsonl",
        log_every=2,
        checkpoint=folder / "checkpoint",
        **{"checkpoint_every": 4, **options},
    )


def main() -> None:
    folder, kill_after = Path(sys.argv[1]), int(sys.argv[2])
    served = 0

    def count_and_kill() -> None:
        nonlocal served
        if served == kill_after > 0:
            os.kill(os.getpid(), signal.SIGKILL)
        served += 1

    step = make_step()
    history = train(folder, step, count_and_kill)
    history.seconds = 0.0
    write_checkpoint({"state": step.state_dict(), "history": history.as_dict(), "served": served}, folder / "result")


if __name__ == "__main__":
    main()
