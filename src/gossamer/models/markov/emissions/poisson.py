"""Counts that are Poisson, independently per dimension; a missing dimension is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gossamer.models.markov.emissions.family import (
    IMPOSSIBLE,
    SURELY_IMPOSSIBLE,
    Observed,
    Parameters,
    Prior,
    check_matrix,
    log_probs,
    natural_log_density,
)
from gossamer.models.markov.emissions.gaussian import DiagonalGaussian, data_moments, filled

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing


class Poisson(DiagonalGaussian):
    """x ~ Poisson(`rates`) per dimension; φ(x) = (x, 1), zero where missing.

    The prior is `pseudo_count` steps that have the mean counts of the data.
    """

    def check(self, values: np.ndarray, missing: np.ndarray | None, size: int | None) -> np.ndarray:
        """Return a matrix of counts, NaN where missing."""
        matrix = check_matrix(values, missing, size)
        wrong = (matrix < 0) | (matrix != np.floor(matrix))
        wrong &= ~np.isnan(matrix)
        if wrong.any():
            raise ValueError(f"data must be counts 0, 1, 2 … for 'poisson', got {matrix[wrong][0]:g}")
        return matrix

    def observe(self, values: np.ndarray, size: int, shift: Float[Tensor, " D"] | None = None) -> Observed:
        """Return counts and ones, and the log of the factorials."""
        del size, shift
        x = torch.from_numpy(values)
        seen = ~torch.isnan(x)
        counts = torch.where(seen, x, 0.0)
        carrier = -torch.where(seen, torch.lgamma(counts + 1), 0.0).sum(1)
        return Observed(torch.cat([counts, seen.double()], dim=1), carrier)

    def prior_for(self, observed: Observed, values: np.ndarray, prior: Prior, sharing: Sharing | None = None) -> Prior:
        """Take the mean counts from the data."""
        del observed
        return prior._replace(centre=torch.from_numpy(data_moments(values, sharing)[0]))

    def start_features(
        self, values: np.ndarray, size: int, generator: np.random.Generator, sharing: Sharing | None = None
    ) -> np.ndarray:
        """Return the standardised square roots, which have about equal variance at all rates."""
        del size, generator
        return filled(np.sqrt(values), sharing)

    def log_density(
        self, observed: Observed, parameters: Parameters, series: Int64[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N K"]:
        """Return Σ x log λ - λ - log x! over the dimensions that are seen."""
        rates = parameters["rates"]
        natural = torch.cat([log_probs(rates, IMPOSSIBLE), -rates], dim=-1)
        density = natural_log_density(observed, natural, series)
        return density.masked_fill(density < SURELY_IMPOSSIBLE, -torch.inf)

    def maximise(
        self, sums: Float[Tensor, "P K F"], observed: Observed, prior: Prior, previous: Parameters | None
    ) -> Parameters:
        """Return mean counts with their prior; a state that has nothing keeps its rates."""
        del observed
        counts, weights = sums.chunk(2, dim=-1)
        believed = 0.0 if prior.centre is None else prior.pseudo_count * prior.centre
        weights = weights + (0.0 if prior.centre is None else prior.pseudo_count)
        empty = weights <= 1e-10
        rates = (counts + believed) / weights.masked_fill(empty, 1.0)
        return {"rates": rates if previous is None else torch.where(empty, previous["rates"], rates)}

    def log_prior(self, parameters: Parameters, prior: Prior) -> Float[Tensor, " P"]:
        """Return the log of the Gamma prior."""
        rates = parameters["rates"]
        if prior.centre is None or prior.pseudo_count == 0:
            return rates.new_zeros(len(rates))
        return prior.pseudo_count * (prior.centre * rates.log() - rates).flatten(1).sum(1)

    def shapes(self, num_states: int, size: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of the rates."""
        return {"rates": (num_states, size)}

    def num_free(self, num_states: int, size: int) -> int:
        """Return the number of rates."""
        return num_states * size

    def expected(self, parameters: Parameters) -> Float[Tensor, "P K D"]:
        """Return the rates."""
        return parameters["rates"]

    def sample(
        self, parameters: Parameters, states: np.ndarray, series: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Draw counts for every step."""
        drawn: np.ndarray = generator.poisson(parameters["rates"].numpy()[series, states]).astype(np.float64)
        return drawn
