"""Trains small models; test_processes.py calls it in one process and, under torchrun, runs it in two.

Arguments: output folder, batch size per process.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from gossamer.data.batching import Batches
from gossamer.models.embeddings import make_optimiser
from gossamer.models.embeddings.sharded import ShardedAnchorEmbedding
from gossamer.training import GradientStep, History, ProximalYogi, fit, make_fabric
from gossamer.training.checkpoint import write_checkpoint


def squared_error(module: nn.Module, batch: tuple[Tensor, Tensor], generator: torch.Generator) -> dict[str, Tensor]:
    inputs, targets = batch
    residual = module(inputs).sum(-1) - targets
    return {"loss": residual.square().mean(), "absolute": residual.abs().mean()}


def train_dense(fabric: Fabric, num_examples: int, batch_size: int, folder: Path) -> tuple[nn.Module, History]:
    """Adam on a small network, resumed halfway."""
    generator = torch.Generator().manual_seed(num_examples)
    inputs = torch.randn(num_examples, 3, generator=generator)
    targets = inputs.prod(1)
    batches = Batches(lambda rows: (inputs[rows], targets[rows]), num_examples, batch_size)
    for epochs in (2, 4):
        module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
        for parameter in module.parameters():
            parameter.data = 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
        step = GradientStep(module, squared_error, torch.optim.Adam(module.parameters(), lr=0.01))
        history = fit(
            step,
            batches,
            epochs=epochs,
            # Processes may disagree about what they measure; process 0 decides for all.
            validate=lambda: {"score": float(fabric.global_rank)},
            monitor="score",
            restore_best=False,
            log=folder / f"log{num_examples}",
            log_every=1,
            checkpoint=folder / f"checkpoint{num_examples}",
            checkpoint_every=2,
            fabric=fabric,
        )
    return module, history


def train_row_sparse(fabric: Fabric, batch_size: int, folder: Path) -> tuple[nn.Module, History]:
    """Row-sparse proximal Yogi on an embedding; the rows of each process differ."""
    module = nn.Embedding(11, 2, sparse=True)
    module.weight.data = torch.linspace(-1, 1, 22).reshape(11, 2)
    optimiser = ProximalYogi(module.parameters(), lr=0.02, l1=0.05)
    batches = Batches(lambda rows: (torch.as_tensor(rows), torch.ones(len(rows))), 11, batch_size)
    path = folder / "checkpoint_sparse"
    step = GradientStep(module, squared_error, optimiser)
    history = fit(step, batches, epochs=4, checkpoint=path, checkpoint_every=3, fabric=fabric)
    optimiser.catch_up()
    return module, history


def train_divided(fabric: Fabric, batch_size: int, folder: Path) -> tuple[nn.Module, History]:
    """An anchor table whose rows processes divide among them: vectors are fetched from their owners (all-to-all)."""
    module = nn.Sequential(ShardedAnchorEmbedding(11, 2, 4, num_slots=2, random_state=0))
    optimiser = make_optimiser(module, learning_rate=0.02, l1=0.01, regrow_every=None)
    batches = Batches(lambda rows: (torch.as_tensor(rows), torch.ones(len(rows))), 11, batch_size)
    step = GradientStep(module, squared_error, optimiser)
    history = fit(step, batches, epochs=4, checkpoint=folder / "checkpoint_divided", fabric=fabric)
    table = module[0]
    table.finish()
    first = table.whole_on_first()
    assert (first is None) == (not fabric.is_global_zero)
    return nn.Embedding.from_pretrained(table.whole().weight), history


def train_all(fabric: Fabric, batch_size: int, folder: Path) -> None:
    # With two processes of 3 rows: 13 = 6 + 6 + 1 leaves one without rows, 11 = 6 + 5 has an odd last batch.
    results = {f"dense{num}": train_dense(fabric, num, batch_size, folder) for num in (13, 11)}
    results["sparse"] = train_row_sparse(fabric, batch_size, folder)
    results["divided"] = train_divided(fabric, batch_size, folder)
    state = {
        name: {"parameters": dict(module.state_dict()), "epochs": history.epochs}
        for name, (module, history) in results.items()
    }
    write_checkpoint(state, folder / f"result{fabric.global_rank}")


if __name__ == "__main__":
    train_all(make_fabric("cpu"), int(sys.argv[2]), Path(sys.argv[1]))
