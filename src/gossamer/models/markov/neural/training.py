"""Training the network through the loop: series in batches, some of their steps hidden from the EM layers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gossamer.core.randomness import derive_seed
from gossamer.data.content import ragged_take
from gossamer.models.markov.inputs import Batch
from gossamer.models.markov.neural.arguments import features_of, unrolled_of
from gossamer.models.markov.neural.em_layer import log_likelihood, observe
from gossamer.models.markov.neural.judging import hidden_log_likelihood, steps_to_predict
from gossamer.models.markov.neural.methods import hidden_steps, run_em
from gossamer.models.markov.neural.network import NeuralEMNetwork

if TYPE_CHECKING:
    from gossamer.models.markov.neural.neural_em import NeuralEM
    from gossamer.training.history import History
    from gossamer.training.sharing import Sharing

CLIP_NORM = 5.0


class Some:
    """Some series of a batch; a class of its own, so that nothing moves or converts what is in it."""

    def __init__(self, batch: Batch, features: Tensor, targets: Tensor | None) -> None:
        self.batch, self.features, self.targets = batch, features, targets


def train_network(
    model: NeuralEM,
    network: NeuralEMNetwork,
    batch: Batch,
    held_out: Batch | None,
    *,
    sharing: Sharing,
    watching: Sharing,
    checkpoint: Path | None,
    log: Path | None,
) -> History:
    """Train in place, by the likelihood (4.11), by that of hidden steps, or for EM mapping by the distance to EM.

    `sharing` says how processes have divided the series of `batch`, `watching` those of `held_out`.
    """
    from gossamer.training.loop import fit as train
    from gossamer.training.step import GradientStep

    features = torch.from_numpy(features_of(batch, model.feature_dim_))
    targets = em_targets(model, batch) if model.method == "em-mapping" else None

    def collate(rows: np.ndarray) -> Some:
        return Some(take_series(batch, rows), features[rows], None if targets is None else targets[rows])

    def loss(prepared: Any, some: Some, generator: torch.Generator) -> Tensor:
        del prepared  # it would turn doubles into floats
        return series_loss(model, network, some, generator)

    def judged(some: Batch) -> dict[str, float]:
        return {"valid_hidden_loglik": hidden_log_likelihood(model, some)}

    def validate() -> dict[str, float]:
        assert held_out is not None
        measured = watching.measure(judged, held_out, num_to_predict(held_out))
        network.train()
        return measured

    optimiser = torch.optim.AdamW(network.parameters(), lr=model.learning_rate, weight_decay=model.weight_decay)
    step = GradientStep(
        network, loss, optimiser, clip_norm=CLIP_NORM, random_state=model.random_state, calls_prepared=False
    )
    seed = None if model.random_state is None else derive_seed(model.random_state, "batches")
    batches = sharing.batches(collate, len(batch.offsets) - 1, model.batch_size, seed)
    is_watched = held_out is not None
    history = train(
        step,
        batches,
        epochs=model.epochs,
        validate=validate if is_watched else None,
        monitor="valid_hidden_loglik" if is_watched else "loss",
        mode="max" if is_watched else "min",
        patience=model.patience if is_watched else None,
        restore_best=is_watched,
        checkpoint=checkpoint,
        log=log,
        description=model.method,
    )
    network.eval()
    return history


def series_loss(model: NeuralEM, network: NeuralEMNetwork, some: Some, generator: torch.Generator) -> Tensor:
    """Return minus the log-likelihood per step of what the loss is about, with some steps hidden from EM layers."""
    problem, unrolled = model._problem(), unrolled_of(model)
    masks = np.random.default_rng(generator.initial_seed())
    hidden = hidden_steps(len(some.batch.values), model.hidden_share, masks)
    whole = observe(some.batch, problem.emission, model.n_features_in_)
    seen = observe(some.batch, problem.emission, model.n_features_in_, hidden)
    vectors: Tensor = network(some.features, seen, problem, unrolled, generator)
    if some.targets is not None:
        return (vectors - some.targets).square().mean()
    parameters = problem.layout.unpack(vectors)
    likelihood = log_likelihood(parameters, whole, problem.emission, problem.longest)
    if model.loss == "all" or seen.num_observed == whole.num_observed:
        return -likelihood.sum() / max(1, whole.num_observed)
    known = log_likelihood(parameters, seen, problem.emission, problem.longest)
    return (known - likelihood).sum() / (whole.num_observed - seen.num_observed)


def num_to_predict(batch: Batch) -> int:
    """Return by how many steps a process's held-out series count: none only where it has no series."""
    return max(1, int(steps_to_predict(batch).sum())) if len(batch.offsets) > 1 else 0


def em_targets(model: NeuralEM, batch: Batch) -> Tensor:
    """Return what EM finds for every series alone: what EM mapping learns to predict."""
    problem = model._problem()
    series = observe(batch, problem.emission, model.n_features_in_)
    limits: dict[str, Any] = {"iterations": model.em_iterations, "tolerance": model.tolerance}
    return problem.layout.pack(run_em(model._start_tensors(), series, problem, **limits))


def take_series(batch: Batch, rows: np.ndarray) -> Batch:
    """Return some series of a batch."""
    offsets, places = ragged_take(batch.offsets, rows)
    return Batch(batch.values[places], offsets, batch.vocabulary)
