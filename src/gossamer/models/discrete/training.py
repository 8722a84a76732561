"""Training a discrete VAE through the loop: first statistics, batches, step, learning rate, which epoch is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gossamer.models.discrete.module import DiscreteNetwork
from gossamer.models.discrete.objective import negative_bound
from gossamer.models.discrete.observations import BinaryObservation, CountObservation, Observation, RealObservation
from gossamer.models.discrete.rows import Rows, binarise

if TYPE_CHECKING:
    from gossamer.training.history import History
    from gossamer.training.sharing import Sharing

SELECTIONS = ("hard", "relaxed", "last")


@dataclass(frozen=True)
class Schedule:
    """How long and how fast: over the first share `warmup` of all updates the KL's weight rises from 0 to 1, over the
    last share `cooldown` the learning rate falls to 0, both linearly.
    """

    learning_rate: float
    warmup: float
    cooldown: float
    batch_size: int
    epochs: int
    patience: int | None
    select: str


def first_observation(kind: str, rows: Rows, binarisation: str, sharing: Sharing) -> Observation:
    """Return the observations' likelihood with the statistics of the training rows of all processes."""
    num_rows = int(sharing.sum(np.array([len(rows)]))[0])
    if kind == "binary":
        values = rows.values
        sums = np.asarray((values > 0.5).sum(axis=0)).ravel() if binarisation == "threshold" else rows.column_sums()
        return BinaryObservation(torch.tensor(sharing.sum(sums) / num_rows, dtype=torch.float32))
    if kind == "counts":
        sums = sharing.sum(rows.column_sums())
        if sums.sum() == 0:
            raise ValueError(f"data must have at least one count above 0, got {num_rows} rows without")
        return CountObservation(torch.tensor(sums / sums.sum(), dtype=torch.float32))
    if num_rows < 2:
        raise ValueError(f"data must have 2 rows or more with observation='real', got n_samples={num_rows}")
    mean = sharing.sum(rows.column_sums()) / num_rows
    squares = sum(((block.double() - torch.from_numpy(mean)) ** 2).sum(dim=0) for block in rows.blocks())
    scale = np.sqrt(sharing.sum(np.asarray(squares)) / num_rows)
    is_constant = scale <= 1e-6 * np.maximum(np.abs(mean), 1e-6)
    if is_constant.any():
        column = int(np.argmax(is_constant))
        raise ValueError(
            f"data must vary in every column with observation='real', got the constant {mean[column]:g} in column "
            f"{column}, whose likelihood has no limit; leave such columns out"
        )
    return RealObservation(torch.tensor(mean, dtype=torch.float32), torch.tensor(scale, dtype=torch.float32))


def empty_observation(kind: str, num_columns: int) -> Observation:
    """Return a likelihood to be filled from an artifact."""
    ones = torch.ones(num_columns)
    if kind == "real":
        return RealObservation(ones, ones.clone())
    return BinaryObservation(ones) if kind == "binary" else CountObservation(ones)


def train_network(
    network: DiscreteNetwork,
    rows: Rows,
    schedule: Schedule,
    *,
    sharing: Sharing,
    gradient: str,
    num_samples: int,
    binarisation: str,
    random_state: int | None,
    validate: Callable[[], Mapping[str, float]] | None,
    description: str,
    checkpoint: Path | None = None,
    log: Path | None = None,
) -> History:
    """Train in place and return what happened."""
    from gossamer.training.devices import process_count
    from gossamer.training.loop import fit as train
    from gossamer.training.step import GradientStep

    if binarisation == "threshold":
        rows = Rows((rows.values > 0.5).astype(np.float32))  # once, not in every epoch
    batches = sharing.batches(rows.take, len(rows), schedule.batch_size, random_state)
    # One kernel for all parameters of a step; Adam otherwise spends a tenth of the time between them.
    optimiser = torch.optim.Adam(network.parameters(), lr=schedule.learning_rate, fused=True)
    num_updates = schedule.epochs * batches.count(process_count())
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda t: cooled(t, num_updates, schedule.cooldown))

    def loss(prepared: Any, x: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
        x = binarise(x, binarisation, generator) if binarisation == "dynamic" else x
        weight = warmed(float(network.temperatures.progress), num_updates, schedule.warmup)
        value, kl = negative_bound(network, x, gradient, num_samples, generator, encoded=prepared(x), kl_weight=weight)
        network.temperatures.advance()
        return {"loss": value, "kl": kl}

    step = GradientStep(network, loss, optimiser, scheduler=scheduler, random_state=random_state)
    is_watched = validate is not None and schedule.select != "last"
    history = train(
        step,
        batches,
        epochs=schedule.epochs,
        validate=validate,
        monitor=f"valid_{schedule.select}" if is_watched else "loss",
        patience=schedule.patience if is_watched else None,
        restore_best=is_watched,
        checkpoint=checkpoint,
        log=log,
        description=description,
    )
    network.eval()
    return history


def warmed(update: float, num_updates: int, warmup: float) -> float:
    """Return the KL's weight at an update: from 0 to 1 over the first share `warmup`.

    >>> [warmed(t, 4, 0.5) for t in range(4)]
    [0.0, 0.5, 1.0, 1.0]
    """
    return 1.0 if warmup == 0 else min(1.0, update / max(1.0, warmup * num_updates))


def cooled(update: int, num_updates: int, cooldown: float) -> float:
    """Return the share of the learning rate at an update: 1, then down to 0 over the last share `cooldown`.

    >>> [cooled(t, 4, 0.5) for t in range(4)]
    [1.0, 1.0, 1.0, 0.5]
    """
    left = (num_updates - update) / max(1, num_updates)
    return 1.0 if cooldown == 0 or left >= cooldown else max(0.0, left / cooldown)
