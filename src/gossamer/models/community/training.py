"""Training through the loop: graph, batches, optimiser, and communities that start where users are alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from gossamer.core.randomness import derive_seed
from gossamer.models.community.batch import BatchMaker, CommunityBatches
from gossamer.models.community.encoder import ROW_SPARSE_FROM
from gossamer.models.community.inference import embed_neighbours, judged
from gossamer.models.community.neighbourhood import all_neighbours
from gossamer.models.community.objective import Training, loss_of
from gossamer.models.community.starts import MOST_FOR_START, community_start, group_start
from gossamer.training.devices import process_count
from gossamer.training.history import History
from gossamer.training.loop import fit as train
from gossamer.training.optimisers import ProximalAdam
from gossamer.training.step import GradientStep

CLIP_NORM = 5.0
FEWEST_UPDATES = 50  # before users are alike for a reason


class CommunityStep(GradientStep):
    """A gradient step that, before update number `start_at`, puts communities where their users are by then.

    Communities that start orthonormal at random know nothing of users: softmax weights stay where they began, and all
    of them are in effect one. The start is a function of the network and the seed, so that a resumed run repeats it.
    """

    def __init__(self, training: Training, maker: BatchMaker, start_at: int | None, optimiser: Optimizer, **more: Any):
        super().__init__(training, loss_of, optimiser, **more)
        self.training_module, self.maker, self.start_at = training, maker, start_at

    def __call__(self, batch: Any, weight: float) -> dict[str, Tensor]:
        """Make one update on `batch` and return its scalars."""
        if self.start_at is not None and self.num_updates == self.start_at:
            start_communities(self.training_module, self.maker, derive_seed(self._seed, "communities"))
        return super().__call__(batch, weight)


@torch.no_grad()
def start_communities(training: Training, maker: BatchMaker, seed: int) -> None:
    """Put the communities at the centres of users' full embeddings: of the groups, or of users who are alike."""
    network = training.network
    generator = np.random.default_rng(seed)
    rows = maker.active
    if len(rows) > MOST_FOR_START:
        rows = np.sort(generator.choice(rows, MOST_FOR_START, replace=False))
    graph, half_life = maker.graph, maker.drawing.recent_half_life
    history = all_neighbours(graph.user_items, rows, time_order=graph.time_order, half_life=half_life)
    neighbours = embed_neighbours(network, maker.items, len(maker.items))
    with judged(network):
        full = network.full_users(maker.users.take(torch.from_numpy(rows)), neighbours, history)
    unit = torch.nn.functional.normalize(full, dim=1).numpy()
    if training.groups is None:
        start = community_start(unit, network.widths.num_communities, generator)
    else:
        start = group_start(unit, training.groups[torch.from_numpy(rows)].numpy(), generator)
    network.space.copy_(torch.from_numpy(start))


def _start_at(warmup_epochs: int, num_batches: int, epochs: int) -> int:
    """Return the update before which communities start; few updates teach little, whatever an epoch is."""
    if warmup_epochs == 0:
        return 0
    return min(max(warmup_epochs * num_batches, FEWEST_UPDATES), epochs * num_batches // 2)


def train_network(
    training: Training,
    batches: CommunityBatches,
    *,
    epochs: int,
    learning_rate: float,
    weight_decay: float,
    warmup_epochs: int | None,
    patience: int | None,
    random_state: int | None,
    validate: Callable[[], Mapping[str, float]] | None,
    monitor: str,
    checkpoint: Path | None,
    log: Path | None,
) -> History:
    """Train by Adam; with `validate`, keep the epoch with the highest `monitor`."""
    has_start = warmup_epochs is not None and training.network.has_communities
    is_sparse = training.network.widths.num_items >= ROW_SPARSE_FROM
    if is_sparse and weight_decay:
        raise ValueError(
            f"weight_decay must be 0 with {ROW_SPARSE_FROM:,} items or more, whose gradients are row-sparse, got "
            f"{weight_decay}; use dropout"
        )
    if is_sparse:
        optimiser: Optimizer = ProximalAdam(training.parameters(), lr=learning_rate)
    else:
        optimiser = torch.optim.Adam(training.parameters(), lr=learning_rate, weight_decay=weight_decay)
    step = CommunityStep(
        training,
        batches.maker,
        _start_at(warmup_epochs, batches.count(process_count()), epochs)
        if has_start and warmup_epochs is not None
        else None,
        optimiser,
        clip_norm=None if is_sparse else CLIP_NORM,
        random_state=random_state,
    )
    history = train(
        step,
        batches,
        epochs=epochs,
        validate=validate,
        monitor="loss" if validate is None else monitor,
        mode="min" if validate is None else "max",
        patience=None if validate is None else patience,
        checkpoint=checkpoint,
        log=log,
        description="communities",
    )
    training.eval()
    return history
