"""Contenders of the embedding benchmarks: a table and its optimiser, trained on batches of ids.

One step is a lookup, a loss that is linear in the vectors, its gradient and the update. Ids are drawn uniformly (no row
is touched twice soon: the worst case for caches and for lazy thresholds) and Zipf-like (as words and items are). Memory
is the peak of the whole training, measured, and what parameters, gradients and optimiser hold between steps, counted.
Forward is a lookup of 8192 ids without gradients by the table as it would be served.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from measuring import Arrays, Contender, resident_bytes, run_benchmark
from torch import Tensor, nn

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.tables import make_table
from gossamer.runner.machine import peak_rss_bytes

RATIO = 20
WARM_UP, LONGEST_SECONDS = 3, 15.0
COLUMNS = {
    "seconds": "s/step, uniform ids",
    "zipf_seconds": "s/step, Zipf ids",
    "forward_seconds": "s/forward, uniform ids",
    "zipf_forward_seconds": "s/forward, Zipf ids",
    "added_bytes": "peak memory",
    "held_bytes": "held between steps",
}
Build = Callable[[int, int], tuple[nn.Module, torch.optim.Optimizer]]


def batches_of_ids(num_embeddings: int, embedding_dim: int, batch_size: int, steps: int) -> Arrays:
    """Return batches of uniform and of Zipf-like ids; frequent ids lie all over the table, as in real vocabularies."""
    rng = np.random.default_rng(0)
    popularity = np.cumsum(1.0 / (np.arange(num_embeddings) + 30.0) ** 0.9)
    drawn = rng.random((steps, batch_size)) * popularity[-1]
    ranks = np.minimum(np.searchsorted(popularity, drawn), num_embeddings - 1)
    return {
        "uniform": rng.integers(0, num_embeddings, (steps, batch_size)),
        "zipf": rng.permutation(num_embeddings)[ranks],
        "shape": np.array([num_embeddings, embedding_dim]),
    }


def contender(build: Build) -> Contender:
    """Return the measurement of one kind of table."""

    def prepare(arrays: Arrays) -> Callable[[], dict[str, float]]:
        num_embeddings, width = (int(size) for size in arrays["shape"])
        ids = {kind: torch.from_numpy(arrays[kind]) for kind in ("uniform", "zipf")}
        _train(*build(10_000, width), ids["uniform"][:12] % 10_000)  # what is compiled or imported late
        return lambda: _measure(build, num_embeddings, width, ids)

    return prepare


def _measure(build: Build, num_embeddings: int, width: int, ids: dict[str, Tensor]) -> dict[str, float]:
    before = resident_bytes()
    table, optimiser = build(num_embeddings, width)
    steps = {kind: _train(table, optimiser, batches) for kind, batches in ids.items()}
    added, held = peak_rss_bytes() - before, _held_bytes(table, optimiser)
    if isinstance(table, AnchorEmbedding):
        table.finish()
    with torch.no_grad():
        forward = {kind: float(np.median(_seconds(table, batches.repeat(5, 1)))) for kind, batches in ids.items()}
    return {
        "seconds": steps["uniform"],
        "zipf_seconds": steps["zipf"],
        "forward_seconds": forward["uniform"],
        "zipf_forward_seconds": forward["zipf"],
        "added_bytes": added,
        "held_bytes": held,
    }


def _train(table: nn.Module, optimiser: torch.optim.Optimizer, batches: Tensor) -> float:
    width: Any = table.embedding_dim
    directions = torch.randn(batches.shape[1], width, generator=torch.Generator().manual_seed(0))

    def step(ids: Tensor) -> None:
        optimiser.zero_grad()
        loss = (table(ids) * directions).sum() / len(ids)
        loss.backward()
        optimiser.step()

    return float(np.mean(_seconds(step, batches)))  # the mean, because some steps do more than others


def _seconds(work: Callable[[Tensor], Any], batches: Tensor) -> list[float]:
    """Return the time of each batch after the first few; fewer batches where they take long."""
    seconds = []
    for batch in batches:
        began = time.perf_counter()
        work(batch)
        seconds.append(time.perf_counter() - began)
        if sum(seconds) > LONGEST_SECONDS and len(seconds) > WARM_UP:
            break
    return seconds[WARM_UP:]


def _held_bytes(table: nn.Module, optimiser: torch.optim.Optimizer) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in _tensors(table, optimiser))


def _tensors(table: nn.Module, optimiser: torch.optim.Optimizer) -> Iterator[Tensor]:
    yield from table.buffers()
    for parameter in table.parameters():
        yield parameter.data
        gradient = parameter.grad
        if gradient is not None and gradient.is_sparse:
            yield from (gradient._indices(), gradient._values())
        elif gradient is not None:
            yield gradient
        yield from (state for state in optimiser.state[parameter].values() if isinstance(state, Tensor))


def anchors(num_embeddings: int, width: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    table = AnchorEmbedding(num_embeddings, width, ratio=RATIO)
    with torch.no_grad():  # as in the middle of a training: half of the slots are free, so regrowth has work
        table.values *= torch.rand(table.values.shape, generator=torch.Generator().manual_seed(0)) < 0.5
    return table, make_optimiser(table, kind="yogi", learning_rate=0.01, l1=1e-6)


def dense_adam(num_embeddings: int, width: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    table = nn.Embedding(num_embeddings, width)
    return table, torch.optim.Adam(table.parameters(), 0.01)


def sparse_adam(num_embeddings: int, width: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    table = nn.Embedding(num_embeddings, width, sparse=True)
    return table, torch.optim.SparseAdam(list(table.parameters()), 0.01)


def rival(method: str) -> Build:
    """Return a compressed table of the same ratio, trained by Adam."""

    def build(num_embeddings: int, width: int) -> tuple[nn.Module, torch.optim.Optimizer]:
        table = make_table(method, num_embeddings, width, ratio=RATIO)
        return table, torch.optim.Adam(table.parameters(), 0.01)

    return build


def run(name: str, num_embeddings: int) -> None:
    """Run the benchmark of one vocabulary size."""
    contenders = {
        "gossamer": contender(anchors),
        "nn.Embedding, SparseAdam": contender(sparse_adam),
        "nn.Embedding, Adam": contender(dense_adam),
        "quotient-remainder, Adam": contender(rival("quotient-remainder")),
        "low-rank, Adam": contender(rival("lowrank")),
    }
    run_benchmark(
        name,
        f"Training and lookup, V = {num_embeddings:,}, D = 64, batch 8192, {RATIO} times smaller",
        {"num_embeddings": num_embeddings, "embedding_dim": 64, "batch_size": 8192, "steps": 43},
        contenders,
        small={"num_embeddings": 100_000, "steps": 23},
        make=batches_of_ids,
        load=dict,
        costs=COLUMNS,
        packages=("torch",),
    )
