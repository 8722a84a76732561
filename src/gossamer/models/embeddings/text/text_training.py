"""What training a text model takes beside its network: batches, the optimiser with its schedule, and its arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from gossamer.core.randomness import RandomState, derive_seed, numpy_generator
from gossamer.data.sentences import Sentences
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.tables import find_table
from gossamer.models.embeddings.text.text_pruning import Pruning
from gossamer.models.stored_network import split_like, take_array_
from gossamer.persistence import JSON, check_array

if TYPE_CHECKING:
    from gossamer.training.step import GradientStep, Loss

TABLE, NETWORK = "table.", "network."
Network = TypeVar("Network", bound=nn.Module)


def pad_texts(data: Sentences, rows: Int[np.ndarray, " B"], max_length: int) -> Int[Tensor, "B T"]:
    """Return the first `max_length` words of texts as one matrix, -1 behind the shorter ones; one column at least.

    >>> from gossamer.data.text import build_sentences
    >>> pad_texts(build_sentences(["a b", "a"], unknown=None), np.array([1, 0]), 9).tolist()
    [[0, -1], [0, 1]]
    """
    lengths = np.minimum(data.lengths[rows], max_length)
    columns = np.arange(max(1, int(lengths.max(initial=0))))
    is_word = columns < lengths[:, None]
    padded = np.full(is_word.shape, -1, dtype=np.int64)
    padded[is_word] = data.tokens[(data.offsets[rows][:, None] + columns)[is_word]]
    return torch.from_numpy(padded)


def gradient_step(
    module: nn.Module,
    loss: Loss,
    *,
    learning_rate: float,
    l1: float,
    num_updates: int,
    pruning: Pruning | None = None,
    random_state: RandomState = 0,
) -> GradientStep:
    """Return proximal Adam steps whose rate rises over a twentieth of the updates and falls to zero by a cosine.

    Gradients are not clipped: those of tables come in rows, and Adam's steps are bounded by its rate.
    """
    from gossamer.training.schedules import warm_cosine
    from gossamer.training.step import GradientStep

    optimiser = make_optimiser(module, kind="adam", learning_rate=learning_rate, l1=l1)
    if pruning is not None:
        pruning.attach(optimiser)
    schedule = LambdaLR(optimiser, lambda update: warm_cosine(update, num_updates))
    return GradientStep(module, loss, optimiser, scheduler=schedule, random_state=random_state)


@contextmanager
def seeded_modules(random_state: RandomState, purpose: str) -> Iterator[None]:
    """Let torch's modules draw their first weights from `random_state`, leaving the global generator as it was."""
    seed = int(numpy_generator(random_state).integers(2**63)) if random_state is None else random_state
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed if isinstance(seed, int) else int(seed.integers(2**63)), purpose))
        yield


def arrays_of(network: nn.Module) -> dict[str, np.ndarray]:
    """Return what an artifact holds of a network: what its table stores, and all other weights."""
    table = network.embedding
    assert isinstance(table, EmbeddingTable)
    arrays = {f"{TABLE}{name}": array for name, array in table.stored().items()}
    for name, tensor in network.state_dict().items():
        if not name.startswith("embedding."):
            arrays[f"{NETWORK}{name}"] = tensor.detach().cpu().numpy()
    return arrays


def restore_network(
    make: Callable[[EmbeddingTable], Network],
    kind: JSON,
    config: JSON,
    arrays: Mapping[str, np.ndarray],
    num_words: int,
) -> Network:
    """Return the network of an artifact, its table built by method and configuration; what does not fit is named."""
    if not isinstance(config, dict) or config.get("num_embeddings") != num_words:
        raise ValueError(f"table must have a row for each of the {num_words} words, got the configuration {config}")
    arguments: dict[str, Any] = dict(config)
    table = find_table(str(kind))(**arguments)
    table.restore({name.removeprefix(TABLE): array for name, array in arrays.items() if name.startswith(TABLE)})
    network = make(table)
    split_like(network, arrays)
    wanted = {
        name: value for name, value in network.state_dict(keep_vars=True).items() if not name.startswith("embedding.")
    }
    surplus = {name for name in arrays if name.startswith(NETWORK)} - {f"{NETWORK}{name}" for name in wanted}
    if surplus:
        raise ValueError(f"arrays must be those of the network, got also {sorted(surplus)}")
    for name, value in wanted.items():
        stored = check_array(arrays, f"{NETWORK}{name}", np.float32, tuple(value.shape))
        take_array_(value, stored)
    return network.eval()
