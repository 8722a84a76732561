"""Training through the loop: the objective as a module, batches of like lengths, Adam, the dial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from gossamer.data.batching import Batches
from gossamer.data.sentences import Sentences
from gossamer.models.spikeslab.dial import SparsityDial
from gossamer.models.spikeslab.hierarchical import HierarchicalCodes
from gossamer.models.spikeslab.module import SentenceNetwork
from gossamer.models.spikeslab.objective import Weights, objective
from gossamer.models.spikeslab.ragged import LengthBatches, SentenceBatch, pack_sentences

if TYPE_CHECKING:
    from gossamer.training.history import History
    from gossamer.training.sharing import Sharing

CLIP_NORM = 5.0


@dataclass(frozen=True)
class Schedule:
    """How long, how fast, and what is drawn per sentence."""

    learning_rate: float
    batch_size: int
    epochs: int
    patience: int | None
    num_gates: int = 1
    num_samples: int = 1


class Training(nn.Module):
    """The network and its dial: called on a batch, it returns the objective and its parts."""

    def __init__(
        self, network: SentenceNetwork, weights: Weights, schedule: Schedule, dial: SparsityDial | None
    ) -> None:
        super().__init__()
        self.network, self.dial = network, dial
        self.weights, self.schedule = weights, schedule

    def forward(self, batch: SentenceBatch, generator: torch.Generator | None) -> dict[str, Tensor]:
        """Return named means over the batch; in training mode the dial is turned."""
        schedule, codes = self.schedule, self.network.codes
        outcome = objective(
            self.network,
            batch,
            self.network.features(batch),
            self.weights,
            generator,
            num_gates=schedule.num_gates,
            num_samples=schedule.num_samples,
        )
        scalars = outcome.scalars()
        if self.training:
            codes.advance()
            if self.dial is not None:
                assert isinstance(codes, HierarchicalCodes)
                self.dial.turn(outcome.z, outcome.on_share, codes.log_alpha)
                scalars["hoyer"] = self.dial.measured()
                scalars["log_alpha"] = codes.log_alpha[0]
        return {name: value.clone() for name, value in scalars.items()}


def make_batches(
    data: Sentences, max_length: int, batch_size: int, random_state: int | None, sharing: Sharing | None = None
) -> Batches[SentenceBatch]:
    """Return batches of the data, of like lengths where this process holds all of them."""

    def collate(rows: np.ndarray) -> SentenceBatch:
        return pack_sentences(data, rows, max_length)

    if sharing is not None and sharing.is_divided:
        return sharing.batches(collate, len(data), batch_size, random_state)
    return LengthBatches(collate, np.minimum(data.lengths, max_length), batch_size, random_state=random_state)


def train_network(
    training: Training,
    batches: Batches[SentenceBatch],
    *,
    random_state: int | None,
    validate: Callable[[], Mapping[str, float]] | None,
    checkpoint: Path | None,
    log: Path | None,
) -> History:
    """Train by Adam at a constant rate; with `patience`, go back to the epoch of the lowest validation loss."""
    from gossamer.training.loop import fit as train
    from gossamer.training.step import GradientStep

    schedule = training.schedule
    optimiser = torch.optim.Adam(training.parameters(), lr=schedule.learning_rate, fused=True)
    step = GradientStep(training, _loss, optimiser, clip_norm=CLIP_NORM, random_state=random_state)
    history = train(
        step,
        batches,
        epochs=schedule.epochs,
        validate=validate,
        monitor="loss" if validate is None else "valid_loss",
        patience=schedule.patience,
        restore_best=validate is not None,
        checkpoint=checkpoint,
        log=log,
        description="sentence VAE",
    )
    training.eval()
    return history


def _loss(prepared: Any, batch: SentenceBatch, generator: torch.Generator) -> dict[str, Tensor]:
    scalars: dict[str, Tensor] = prepared(batch, generator)
    return scalars
