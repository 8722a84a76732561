"""Codes and their costs for any number of sentences: in blocks of like lengths, answers in the caller's order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from torch import Tensor, nn

from gossamer.data.sentences import Sentences
from gossamer.models.spikeslab.module import SentenceNetwork
from gossamer.models.spikeslab.objective import Weights, objective
from gossamer.models.spikeslab.ragged import SentenceBatch, pack_sentences

SENTENCES_AT_ONCE = 256
REFINE_RATE = 0.02


@dataclass(frozen=True)
class Refinement:
    """How features are refined sentence by sentence: gradient steps on the model's own objective, decoder fixed.

    The idea of refined inference for count models (Krishnan et al. 2018): what the encoder says is a first guess. Here
    the guess is the vector of features, so that every distribution of codes is refined by the same few lines.
    """

    num_steps: int
    weights: Weights
    learning_rate: float = REFINE_RATE

    def __call__(
        self, network: SentenceNetwork, batch: SentenceBatch, features: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Return better features."""
        with torch.enable_grad(), fixed_weights(network):
            refined = features.detach().clone().requires_grad_()
            optimiser = torch.optim.Adam([refined], lr=self.learning_rate)
            for _ in range(self.num_steps):
                loss = objective(network, batch, refined, self.weights, generator).loss * batch.num_sentences
                (refined.grad,) = torch.autograd.grad(loss, [refined])
                optimiser.step()
        return refined.detach()


@contextmanager
def fixed_weights(network: nn.Module) -> Iterator[None]:
    """Let no weight ask for a gradient, which the softmax would compute at every step and nobody would read."""
    learned = [weight for weight in network.parameters() if weight.requires_grad]
    try:
        for weight in learned:
            weight.requires_grad_(False)
        yield
    finally:
        for weight in learned:
            weight.requires_grad_(True)


@dataclass(frozen=True)
class Encoded:
    """What is known of each sentence's code: E[z], the slab's mean, P(off), one draw, and what a draw costs in nats.

    `divergence` and `penalty` are those of the sentence's batch (`Drawn`). MAT-VAE's MMD is none of them: it compares
    the codes of a random batch with the prior's, and these batches are of like lengths.
    """

    mean: Float32[np.ndarray, "N D"]
    slab_mean: Float32[np.ndarray, "N D"]
    off_probs: Float32[np.ndarray, "N D"]
    sample: Float32[np.ndarray, "N D"]
    kl_z: Float32[np.ndarray, " N"]
    kl_gamma: Float32[np.ndarray, " N"]
    reconstruction: Float32[np.ndarray, " N"]
    divergence: Float32[np.ndarray, " N"]
    penalty: Float32[np.ndarray, " N"]

    @property
    def is_on(self) -> Bool[np.ndarray, "N D"]:
        """Which dimensions are on in the sparse code."""
        return likeliest_on(self.off_probs)


def likeliest_on(off_probs: Float[np.ndarray, "N D"]) -> Bool[np.ndarray, "N D"]:
    """Return as many dimensions of each code as are expected to be on, those that are likeliest on.

    A threshold of one half would do the same where gates are decided; where all hesitate at 0.8, as they do early in
    training, it would call everything off, although a fifth is on in every draw.

    >>> likeliest_on(np.array([[0.9, 0.1, 0.8, 0.4]])).tolist()
    [[False, True, False, True]]
    """
    count = np.rint((1 - off_probs).sum(axis=1, dtype=np.float64))
    rank = off_probs.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    on: np.ndarray = rank < count[:, None]
    return on


def encode_all(
    network: SentenceNetwork,
    data: Sentences,
    max_length: int,
    generator: torch.Generator,
    *,
    refinement: Refinement | None = None,
    with_likelihood: bool = False,
    features: Float[Tensor, "N H"] | None = None,
) -> Encoded:
    """Return the codes of all sentences; −log p(x|z) is 0 unless it is asked for, which takes the decoder.

    `features` spare the encoder, where they are known already.
    """
    num_dims = network.codes.latent_dim
    wide = [np.zeros((len(data), num_dims), dtype=np.float32) for _ in range(4)]
    narrow = [np.zeros(len(data), dtype=np.float32) for _ in range(5)]
    for batch, found in featured(network, data, max_length, generator, refinement, features):
        rows = batch.rows.numpy()
        with torch.no_grad():
            described = network.codes.describe(found)
            drawn = network.codes.draw(found, generator)
            cost = network.reconstruction(batch, drawn.z[0])[1] if with_likelihood else torch.zeros(len(rows))
        for array, value in zip(
            wide, (described.mean, described.slab_mean, described.off_probs, drawn.z[0]), strict=True
        ):
            array[rows] = value.numpy()
        costs = (drawn.kl_z, drawn.kl_gamma, cost, drawn.divergence, drawn.penalty)
        for row_array, cost_of in zip(narrow, costs, strict=True):
            row_array[rows] = cost_of.numpy()
    return Encoded(*wide, *narrow)


def featured(
    network: SentenceNetwork,
    data: Sentences,
    max_length: int,
    generator: torch.Generator,
    refinement: Refinement | None = None,
    features: Float[Tensor, "N H"] | None = None,
) -> Iterator[tuple[SentenceBatch, Tensor]]:
    """Yield batches of like lengths and the features of their sentences, in evaluation mode."""
    was_training = network.training
    network.eval()
    order = np.argsort(data.lengths, kind="stable")
    try:
        for begin in range(0, len(data), SENTENCES_AT_ONCE):
            batch = pack_sentences(data, order[begin : begin + SENTENCES_AT_ONCE], max_length)
            with torch.no_grad():
                found = network.features(batch) if features is None else features[batch.rows]
            if refinement is not None:
                found = refinement(network, batch, found, generator)
            yield batch, found
    finally:
        network.train(was_training)
