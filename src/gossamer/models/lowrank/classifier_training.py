"""Training and fine-tuning of a classifier through the one loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.lr_scheduler import LambdaLR

from gossamer.data.batching import Batches

if TYPE_CHECKING:
    from gossamer.training.history import History

Collate = Callable[[np.ndarray], tuple[Tensor, Tensor]]
Criterion = Callable[[Tensor, Tensor], Tensor]


def train_classifier(
    network: nn.Module,
    collate: Collate,
    num_examples: int,
    *,
    epochs: int,
    learning_rate: float,
    batch_size: int,
    random_state: int | None,
    description: str,
    criterion: Criterion = functional.cross_entropy,
) -> History:
    """Train all parameters by SGD with momentum, the rate falling along a cosine to zero.

    After a split the two factors of a layer are parameters like any other. `criterion` is what is minimised, of the
    network's outputs and the targets that `collate` gives.
    """
    from gossamer.training.devices import process_count
    from gossamer.training.loop import fit
    from gossamer.training.step import GradientStep

    optimiser = torch.optim.SGD(network.parameters(), lr=learning_rate, momentum=0.9, nesterov=True, weight_decay=1e-4)
    batches = Batches(collate, num_examples, batch_size, random_state=random_state)
    total = epochs * batches.count(process_count())
    scheduler = LambdaLR(optimiser, lambda update: 0.5 * (1 + math.cos(math.pi * min(1.0, update / total))))

    def loss(module: nn.Module, batch: tuple[Tensor, Tensor], _: torch.Generator) -> Tensor:
        inputs, targets = batch
        return criterion(module(inputs), targets)

    step = GradientStep(network, loss, optimiser, scheduler=scheduler, clip_norm=5.0, random_state=random_state)
    history = fit(step, batches, epochs=epochs, description=description)
    network.eval()
    return history
