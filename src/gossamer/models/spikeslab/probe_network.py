"""Classifiers of sentences: on frozen codes with draws marginalised, and end to end (section 4.2 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.spikeslab.module import SentenceNetwork, WordVectors
from gossamer.models.spikeslab.ragged import SentenceBatch


class DenseLayers(nn.Module):
    """Dense layers with leaky ReLUs, then the log-probabilities of classes."""

    def __init__(self, input_dim: int, hidden_dims: Sequence[int], num_classes: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(before, after) for before, after in pairwise([input_dim, *hidden_dims, num_classes])
        )

    def forward(self, z: Float[Tensor, "*B D"]) -> Float[Tensor, "*B C"]:
        """Return log p(y|z)."""
        *hidden, last = self.layers
        for layer in hidden:
            z = nn.functional.leaky_relu(layer(z))
        return last(z).log_softmax(dim=-1)  # type: ignore[no-any-return]


class FrozenProbe(nn.Module):
    """p(y|x) ≈ 1/K Σ_k p(y|z_k), z_k drawn from the posterior of a fitted network that no longer learns."""

    def __init__(self, network: SentenceNetwork, probe: DenseLayers, num_samples: int) -> None:
        super().__init__()
        self.network = network.requires_grad_(False)
        self.probe, self.num_samples = probe, num_samples

    def train(self, mode: bool = True) -> Self:
        """Set the mode of the probe; the frozen network is never in training mode."""
        super().train(mode)
        self.network.eval()
        return self

    def forward(self, features: Float[Tensor, "B H"], generator: torch.Generator | None) -> Float[Tensor, "B C"]:
        """Return log p(y|x): each of the K codes has a γ of its own."""
        with torch.no_grad():
            z = self.network.codes.draw_codes(features.repeat(self.num_samples, 1), generator)
        log_probs = self.probe(z.view(self.num_samples, len(features), -1))
        return torch.logsumexp(log_probs, dim=0) - math.log(self.num_samples)


class SimpleClassifier(nn.Module):
    """A text encoder with a classifier on top of it, all of it trained: the paper's baseline without codes."""

    def __init__(self, vectors: WordVectors, encoder: nn.Module, probe: DenseLayers) -> None:
        super().__init__()
        self.vectors, self.encoder, self.probe = vectors, encoder, probe

    def forward(self, batch: SentenceBatch) -> Float[Tensor, "B C"]:
        """Return log p(y|x), longest sentence first."""
        log_probs: Tensor = self.probe(self.encoder(batch, self.vectors(batch.tokens)))
        return log_probs
