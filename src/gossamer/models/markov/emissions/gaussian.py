"""Normal densities with a variance per dimension; a missing dimension is marginalised, which is to leave it out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gossamer.data.vocabulary import Vocabulary
from gossamer.models.markov.emissions.family import Observed, Parameters, Prior, check_matrix, natural_log_density
from gossamer.models.markov.together import add_up, moments

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

LOG_TWO_PI = math.log(2 * math.pi)


def data_moments(values: np.ndarray, sharing: Sharing | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance per dimension of what is not missing, or raise a ValueError for a constant one."""
    empty = np.flatnonzero(add_up((~np.isnan(values)).sum(axis=0), sharing) == 0).tolist()
    if empty:
        raise ValueError(f"data must have a value in every dimension, got only NaN in {empty}; leave them out")
    mean, variance = moments(values, sharing)
    constant = np.flatnonzero(variance <= 1e-14 * np.maximum(1e-300, np.square(mean)))
    if len(constant):
        raise ValueError(
            f"data must vary in every dimension, got the constant {mean[constant[0]]:g} in dimension {constant[0]}; "
            "leave it out, or use another emission"
        )
    return mean, variance


def filled(values: np.ndarray, sharing: Sharing | None = None) -> np.ndarray:
    """Return values with the dimension's mean where missing, scaled to variance 1: what k-means can read."""
    mean, variance = moments(values, sharing)
    scaled: np.ndarray = (np.where(np.isnan(values), mean, values) - mean) / np.sqrt(np.maximum(variance, 1e-300))
    return scaled


def own_shift(values: Float[Tensor, "N D"]) -> Float[Tensor, " D"]:
    """Return the mean of what is seen in each dimension, zero where nothing is."""
    return torch.nan_to_num(torch.nanmean(values, dim=0)) if len(values) else values.new_zeros(values.shape[1])


class DiagonalGaussian:
    """N(`means`, `variances`) independently per dimension; φ(x) = (x², x, 1), zero where missing.

    The prior on variances is `variance_weight` pseudo-observations that have the variance of the data; `variance_floor`
    is relative to that variance. The clipped variance is the best one above the floor, so EM still never falls.
    """

    def check(self, values: np.ndarray, missing: np.ndarray | None, size: int | None) -> np.ndarray:
        """Return a matrix of reals, NaN where missing."""
        return check_matrix(values, missing, size)

    def size_of(self, values: np.ndarray, vocabulary: Vocabulary | None) -> int:
        """Return the number of dimensions."""
        del vocabulary
        return int(values.shape[1])

    def observe(self, values: np.ndarray, size: int, shift: Float[Tensor, " D"] | None = None) -> Observed:
        """Return squares, values and ones, side by side."""
        del size
        x = torch.from_numpy(values)
        shift = own_shift(x) if shift is None else shift
        seen = ~torch.isnan(x)
        centred = torch.where(seen, x - shift, 0.0)
        return Observed(torch.cat([centred.square(), centred, seen.double()], dim=1), shift=shift)

    def prior_for(self, observed: Observed, values: np.ndarray, prior: Prior, sharing: Sharing | None = None) -> Prior:
        """Take mean and variance from the data."""
        del observed
        mean, variance = data_moments(values, sharing)
        return prior._replace(centre=torch.from_numpy(mean), variance=torch.from_numpy(variance))

    def start_features(
        self, values: np.ndarray, size: int, generator: np.random.Generator, sharing: Sharing | None = None
    ) -> np.ndarray:
        """Return the standardised values."""
        del size, generator
        return filled(values, sharing)

    def log_density(
        self, observed: Observed, parameters: Parameters, series: Int64[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N K"]:
        """Return log N(x | μ, σ²), summed over the dimensions that are seen."""
        assert observed.shift is not None
        means, variances = parameters["means"] - observed.shift, parameters["variances"]
        precision = 1 / variances
        constant = means.square() * precision + variances.log() + LOG_TWO_PI
        natural = torch.cat([-0.5 * precision, means * precision, -0.5 * constant], dim=-1)
        return natural_log_density(observed, natural, series)

    def maximise(
        self, sums: Float[Tensor, "P K F"], observed: Observed, prior: Prior, previous: Parameters | None
    ) -> Parameters:
        """Return weighted means and variances with their prior; a state that has nothing keeps its mean."""
        assert observed.shift is not None
        squares, firsts, weights = sums.chunk(3, dim=-1)
        empty = weights <= 1e-10
        safe = weights.masked_fill(empty, 1.0)
        centred = firsts / safe
        scatter = (squares - centred.square() * weights).clamp_min(0.0)
        means = centred + observed.shift
        if previous is not None:
            means = torch.where(empty, previous["means"], means)
        if prior.variance is None:
            return {"means": means, "variances": scatter / safe}
        believed = prior.variance_weight * prior.variance
        variances = (scatter + believed) / (weights + prior.variance_weight).clamp_min(1e-10)
        if prior.variance_weight == 0:
            variances = torch.where(empty, prior.variance.expand_as(variances), variances)
        return {"means": means, "variances": variances.clamp_min(prior.variance_floor * prior.variance)}

    def log_prior(self, parameters: Parameters, prior: Prior) -> Float[Tensor, " P"]:
        """Return -½ν Σ (log σ² + s²/σ²) with s² the data's variance."""
        variances = parameters["variances"]
        if prior.variance is None or prior.variance_weight == 0:
            return variances.new_zeros(len(variances))
        cost = variances.log() + prior.variance / variances
        return -0.5 * prior.variance_weight * cost.flatten(1).sum(1)

    def shapes(self, num_states: int, size: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of means and variances."""
        return {"means": (num_states, size), "variances": (num_states, size)}

    def num_free(self, num_states: int, size: int) -> int:
        """Return the number of means and variances."""
        return 2 * num_states * size

    def expected(self, parameters: Parameters) -> Float[Tensor, "P K D"]:
        """Return the means."""
        return parameters["means"]

    def sample(
        self, parameters: Parameters, states: np.ndarray, series: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Draw from the normal density of each step's state."""
        means, variances = (parameters[name].numpy()[series, states] for name in ("means", "variances"))
        drawn: np.ndarray = means + np.sqrt(variances) * generator.standard_normal(means.shape)
        return drawn
