"""Matrix factorisation over two tables of any method, trained by gradients: the paper's algorithm and its rivals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from gossamer.core.randomness import derive_seed
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.sharded import ShardedAnchorEmbedding
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.networks.matrix_factorisation import MatrixFactorisation

if TYPE_CHECKING:
    from gossamer.training.history import History
    from gossamer.training.sharing import Sharing

Triples = tuple[Tensor, Tensor, Tensor]


class RatingLoss(nn.Module):
    """Mean over a batch of (r − r̂)² + l2 · (‖p_u‖² + ‖q_i‖²), plus the tables' own penalties per rating.

    The penalty is on the vectors that are looked up, whatever they are made of, so it means the same for every method.
    """

    def __init__(self, network: MatrixFactorisation, l2: float, num_ratings: int) -> None:
        super().__init__()
        self.network = network
        self.l2 = l2
        self.num_ratings = num_ratings

    def forward(
        self, users: Int[Tensor, " B"], items: Int[Tensor, " B"], ratings: Float[Tensor, " B"]
    ) -> Float[Tensor, ""]:
        """Return the loss of a batch of ratings."""
        user_vectors, item_vectors = self.network.users(users), self.network.items(items)
        error = ratings - self.network.rate(users, items, user_vectors, item_vectors)
        lengths = user_vectors.square().sum(dim=1) + item_vectors.square().sum(dim=1)
        own = sum(table.penalty() for table in (self.network.users, self.network.items))  # type: ignore[operator]
        loss: Tensor = (error.square() + self.l2 * lengths).mean() + own / self.num_ratings
        return loss


def train_ratings(
    network: MatrixFactorisation,
    users: Int[np.ndarray, " n"],
    items: Int[np.ndarray, " n"],
    ratings: Float[np.ndarray, " n"],
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    eps: float,
    l1: float,
    l2: float,
    random_state: int,
    sharing: Sharing,
    validate: Callable[[], Mapping[str, float]] | None,
    patience: int | None,
    checkpoint: Path | None,
    log: Path | None,
    only_first: bool = False,
) -> History:
    """Train in place by proximal Yogi (algorithm 1), at a rate that falls to zero, and end the tables' training.

    Divided tables are put together on every process, or on the first alone: then the others keep their parts.
    """
    from gossamer.training.devices import process_count
    from gossamer.training.loop import fit as train
    from gossamer.training.step import GradientStep

    columns = [torch.from_numpy(np.array(column)) for column in (users.astype(np.int64), items.astype(np.int64))]
    targets = torch.from_numpy(np.array(ratings, dtype=np.float32))

    def batch_of(rows: np.ndarray) -> Triples:
        chosen = torch.from_numpy(rows)
        return columns[0][chosen], columns[1][chosen], targets[chosen]

    module = RatingLoss(network, l2, int(sharing.sum(np.array([len(targets)]))[0]))
    optimiser = make_optimiser(
        module, kind="yogi", learning_rate=learning_rate, l1=l1, eps=eps, initial_accumulator=min(1e-6, eps**2)
    )
    batches = sharing.batches(batch_of, len(targets), batch_size, derive_seed(random_state, "batches"))
    # To zero in a straight line: in a few epochs nothing converges at the rate that it can begin with.
    schedule = LambdaLR(optimiser, lambda update: max(0.0, 1 - update / (epochs * batches.count(process_count()))))
    step = GradientStep(module, _loss, optimiser, scheduler=schedule, random_state=random_state)
    history = train(
        step,
        batches,
        epochs=epochs,
        validate=validate,
        monitor="loss" if validate is None else "mse",
        patience=None if validate is None else patience,
        checkpoint=checkpoint,
        log=log,
        description="matrix factorisation",
    )
    network.eval()
    for name in ("users", "items"):
        table = getattr(network, name)
        assert isinstance(table, EmbeddingTable)
        table.finish()
        if isinstance(table, ShardedAnchorEmbedding):
            gathered = table.whole_on_first() if only_first else table.whole()
            if gathered is not None:
                setattr(network, name, gathered)
    return history


def _loss(module: Any, batch: Triples, generator: torch.Generator) -> Tensor:  # noqa: ARG001 (nothing random in it)
    loss: Tensor = module(*batch)
    return loss
