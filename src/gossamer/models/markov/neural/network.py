"""The network of figure 4.1: an MLP with a latent state, and between its calls EM iterations as layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.markov.emissions import Emission, Prior
from gossamer.models.markov.neural.em_layer import Series, improve
from gossamer.models.markov.neural.layout import Layout
from gossamer.models.markov.neural.spsa import spsa
from gossamer.models.markov.together import moments

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

GRADIENTS = ("exact", "spsa", "stopped")
FINALS = ("network", "em")
STRENGTH_UNIT = 10.0
FIRST_WEIGHT = 0.3  # of EM's answer against the network's own, for a series of usual length


@dataclass(frozen=True)
class Unrolled:
    """How EM iterations become layers: how many, what passes their gradient back, and who has the last word.

    `is_mixed` lets the network put out its own answer drawn towards EM's (shrinkage), `is_between` calls the MLP after
    every EM iteration and not only before the first.
    """

    num_layers: int
    gradient: str
    final: str
    is_mixed: bool
    is_between: bool
    perturbations: int
    c: float


@dataclass(frozen=True)
class Problem:
    """What an EM layer must know besides parameters and observations."""

    layout: Layout
    emission: Emission
    prior: Prior
    usual_rate: float
    longest: int


class NeuralEMNetwork(nn.Module):
    """From features and observations of a series to its parameters, as vectors without constraints.

    Each call of the MLP reads the features, its own latent state and where EM has moved the parameters to, and puts
    out p, the parameters as it sees them. With `is_mixed` these are drawn towards EM's v by n / (n + τ), n the expected
    steps in the state and τ learned for every parameter: where nothing was observed, p is the answer.
    """

    start: Tensor
    feature_mean: Tensor
    feature_scale: Tensor

    def __init__(
        self, vector_dim: int, feature_dim: int, hidden_dim: int, latent_dim: int, dropout: float, usual_count: float
    ) -> None:
        super().__init__()
        self.latent_dim = latent_dim
        self.register_buffer("start", torch.zeros(vector_dim))
        self.register_buffer("feature_mean", torch.zeros(feature_dim))
        self.register_buffer("feature_scale", torch.ones(feature_dim))
        self.read = nn.Linear(feature_dim + latent_dim + vector_dim, hidden_dim)
        self.think = nn.Linear(hidden_dim, hidden_dim)
        self.write = nn.Linear(hidden_dim, vector_dim + latent_dim)
        self.direct = nn.Linear(
            feature_dim, vector_dim, bias=False
        )  # what is linear in features need not be learned twice
        self.dropout = nn.Dropout(dropout)
        odds = (1 - FIRST_WEIGHT) / FIRST_WEIGHT
        # In units of STRENGTH_UNIT, so that steps that suit the weights of an MLP can move it far enough.
        self.strength = nn.Parameter(torch.full((vector_dim,), math.log(odds * usual_count) / STRENGTH_UNIT))
        for zero in (self.write.weight, self.write.bias, self.direct.weight):  # the first answer is the common start
            nn.init.zeros_(zero)

    def forward(
        self,
        features: Float[Tensor, "B F"],
        series: Series,
        problem: Problem,
        unrolled: Unrolled,
        generator: torch.Generator,
    ) -> Float[Tensor, "B M"]:
        """Return the parameters of every series."""
        scaled = self.scaled(features).to(self.start)
        latent = scaled.new_zeros(len(scaled), self.latent_dim)
        own, latent = self._call(scaled, latent, scaled.new_zeros(len(scaled), len(self.start)))
        vectors = own
        for layer in range(unrolled.num_layers):
            moved, counts = em_vectors(vectors, series, problem, unrolled, generator)
            is_last = layer == unrolled.num_layers - 1
            if not unrolled.is_between or (is_last and unrolled.final == "em"):
                vectors = moved
                continue
            weight = self._weight(problem.layout.spread(counts))
            seen = (weight * (moved - self.start.double())).to(self.start)
            own, latent = self._call(scaled, latent, seen)
            vectors = own + weight * (moved - own) if unrolled.is_mixed else own
        return vectors

    @torch.no_grad()
    def take_start(
        self, start: Float[Tensor, " M"], features: Float[np.ndarray, "B F"], sharing: Sharing | None = None
    ) -> None:
        """Take the common start, and how features are scaled, from the training data."""
        self.start.copy_(start)
        mean, variance = moments(features, sharing)
        self.feature_mean.copy_(torch.from_numpy(mean))
        scale = np.sqrt(variance)
        self.feature_scale.copy_(torch.from_numpy(np.where(scale > 1e-8, scale, 1.0)))

    def scaled(self, features: Float[Tensor, "B F"]) -> Float[Tensor, "B F"]:
        """Return features with mean zero and deviation one over the training data."""
        return (features - self.feature_mean) / self.feature_scale

    @torch.no_grad()
    def take_regression(self, intercept: Float[Tensor, " M"], weights: Float[Tensor, "M F"]) -> None:
        """Begin with what is linear in features."""
        self.start.copy_(intercept)
        self.direct.weight.copy_(weights)

    def _call(self, features: Tensor, latent: Tensor, moved: Tensor) -> tuple[Tensor, Tensor]:
        hidden = torch.relu(self.read(torch.cat([features, latent, moved], dim=1)))
        hidden = torch.relu(self.think(self.dropout(hidden)))
        change, latent = self.write(self.dropout(hidden)).split([len(self.start), self.latent_dim], dim=1)
        return (self.start + self.direct(features) + change).double(), torch.tanh(latent)

    def _weight(self, counts: Float[Tensor, "B M"]) -> Float[Tensor, "B M"]:
        return counts / (counts + (STRENGTH_UNIT * self.strength.double()).exp())


def em_vectors(
    vectors: Float[Tensor, "B M"], series: Series, problem: Problem, unrolled: Unrolled, generator: torch.Generator
) -> tuple[Float[Tensor, "B M"], Float[Tensor, "B K"]]:
    """Return vectors after an EM iteration, with the gradient that was asked for, and the expected steps per state."""
    layer = em_function(series, problem)
    if unrolled.gradient == "exact":
        return layer(vectors)
    with torch.no_grad():
        moved, counts = layer(vectors)
    if unrolled.gradient == "spsa" and torch.is_grad_enabled():
        drawing = {"perturbations": unrolled.perturbations, "c": unrolled.c}
        moved = spsa(lambda x: layer(x)[0], vectors, generator=generator, **drawing)  # type: ignore[arg-type]
    return moved, counts


def em_function(series: Series, problem: Problem) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """Return the EM iteration of these series as a function of vectors (4.12)."""

    def layer(vectors: Tensor) -> tuple[Tensor, Tensor]:
        found = improve(
            problem.layout.unpack(vectors),
            series,
            problem.emission,
            problem.prior,
            problem.usual_rate,
            problem.longest,
        )
        return problem.layout.pack(found.parameters), found.counts

    return layer
