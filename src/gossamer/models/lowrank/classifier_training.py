"""Training and fine-tuning of a classifier through the one loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from gossamer.data.batching import Batches
from gossamer.models.lowrank.batches import Batch
from gossamer.models.lowrank.fine_tuning import learn

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
    """Train a network on the (inputs, targets) that `collate` makes of rows, and leave it in evaluation mode."""

    def batch(rows: np.ndarray) -> Batch:
        inputs, targets = collate(rows)
        return (inputs,), targets

    batches = Batches(batch, num_examples, batch_size, random_state=random_state)
    history = learn(
        network,
        batches,
        criterion,
        epochs=epochs,
        learning_rate=learning_rate,
        random_state=random_state,
        description=description,
    )
    network.eval()
    return history
