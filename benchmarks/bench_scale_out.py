"""How much faster do two processes train a divided anchor table than one, at the same global batch (strong scaling)?

Each contender starts torchrun with as many processes, one thread each, and takes the seconds that the loop reports: the
start of Python and torch, which is the same whatever is trained, is in `seconds` but not in `train_seconds`.
"""

from __future__ import annotations

import json

import numpy as np
from measuring import Arrays, run_benchmark
from torchrun import started, worker_sizes

WHOLE_BATCH = 8192


def sizes(num_embeddings: int, num_examples: int, embedding_dim: int, num_anchors: int) -> Arrays:
    """Return the sizes alone: every process draws the same data by seed."""
    return {"sizes": np.array([num_embeddings, num_examples, embedding_dim, num_anchors])}


def work(num_embeddings: int, num_examples: int, embedding_dim: int, num_anchors: int) -> None:
    """Train one epoch on pairs of ids and print, on process 0, how long it took."""
    import torch
    from torch import nn

    from gossamer.data.batching import Batches
    from gossamer.models.embeddings import make_optimiser
    from gossamer.models.embeddings.sharded import ShardedAnchorEmbedding
    from gossamer.training import GradientStep, fit, make_fabric

    class PairLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = ShardedAnchorEmbedding(num_embeddings, embedding_dim, num_anchors, num_slots=4)

        def forward(self, pairs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            vectors = self.table(pairs)
            return ((vectors[:, 0] * vectors[:, 1]).sum(dim=1) - targets).square().mean()

    fabric = make_fabric("cpu")
    rng = np.random.default_rng(0)
    pairs = torch.from_numpy(rng.integers(0, num_embeddings, (num_examples, 2)))
    targets = torch.from_numpy(rng.standard_normal(num_examples).astype(np.float32))
    module = PairLoss()
    optimiser = make_optimiser(module, learning_rate=0.01, l1=1e-5, regrow_every=None)

    def batch_of(rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.from_numpy(rows)
        return pairs[chosen], targets[chosen]

    batches = Batches(batch_of, num_examples, WHOLE_BATCH // fabric.world_size)
    step = GradientStep(module, lambda loss, batch, _: loss(*batch), optimiser)
    fit(step, batches, epochs=1, fabric=fabric)  # compiles, and gives every row its optimiser state
    before = fit(step, batches, epochs=1, fabric=fabric)
    if fabric.is_global_zero:
        table_bytes = module.table.values.nbytes + module.table.slots.nbytes
        print(json.dumps({"train_seconds": before.seconds, "table_bytes": table_bytes}))


if __name__ == "__main__":
    given = worker_sizes()
    if given is not None:
        work(*given)
    else:
        run_benchmark(
            "scale-out",
            "how much faster do two processes train a divided anchor table than one?",
            {"num_embeddings": 10_000_000, "num_examples": 2_000_000, "embedding_dim": 64, "num_anchors": 1000},
            {"two processes": started(__file__, 2), "one process": started(__file__, 1)},
            small={"num_embeddings": 10_000, "num_examples": 20_000, "embedding_dim": 8, "num_anchors": 50},
            make=sizes,
            load=lambda arrays: arrays,
            costs={"train_seconds": "seconds of training"},
            packages=("torch",),
        )
