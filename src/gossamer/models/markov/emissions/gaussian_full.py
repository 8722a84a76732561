"""Normal densities with a covariance matrix per state; a step is seen whole or not at all."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gossamer.models.markov.emissions.family import Observed, Parameters, Prior, natural_log_density
from gossamer.models.markov.emissions.gaussian import LOG_TWO_PI, DiagonalGaussian, own_shift


class FullGaussian(DiagonalGaussian):
    """N(`means`, `covariances`); φ(x) = (x xᵀ, x, 1). The prior and the floor are those of `DiagonalGaussian`.

    The floor is one to the eigenvalues, in units where every dimension of the data has variance 1.
    """

    def check(self, values: np.ndarray, missing: np.ndarray | None, size: int | None) -> np.ndarray:
        """Return a matrix of reals, whole rows NaN where missing."""
        matrix = super().check(values, missing, size)
        partly = np.isnan(matrix).any(axis=1) & ~np.isnan(matrix).all(axis=1)
        if partly.any():
            raise ValueError(
                "data must be seen or missing in whole steps for 'gaussian-full', got "
                f"step {np.flatnonzero(partly)[0]} with some of its values NaN; use 'gaussian'"
            )
        return matrix

    def observe(self, values: np.ndarray, size: int, shift: Float[Tensor, " D"] | None = None) -> Observed:
        """Return products of pairs, values and a one, side by side."""
        del size
        x = torch.from_numpy(values)
        shift = own_shift(x) if shift is None else shift
        seen = ~torch.isnan(x).any(dim=1, keepdim=True)
        centred = torch.where(seen, x - shift, 0.0)
        pairs = (centred[:, :, None] * centred[:, None, :]).flatten(1)
        return Observed(torch.cat([pairs, centred, seen.double()], dim=1), shift=shift)

    def log_density(
        self, observed: Observed, parameters: Parameters, series: Int64[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N K"]:
        """Return log N(x | μ, Σ)."""
        assert observed.shift is not None
        means = parameters["means"] - observed.shift
        factor = torch.linalg.cholesky(parameters["covariances"])
        precision = torch.cholesky_inverse(factor)
        linear = (precision @ means[..., None])[..., 0]
        log_det = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1, keepdim=True)
        constant = (linear * means).sum(-1, keepdim=True) + log_det + means.shape[-1] * LOG_TWO_PI
        natural = torch.cat([-0.5 * precision.flatten(-2), linear, -0.5 * constant], dim=-1)
        return natural_log_density(observed, natural, series)

    def maximise(
        self, sums: Float[Tensor, "P K F"], observed: Observed, prior: Prior, previous: Parameters | None
    ) -> Parameters:
        """Return weighted means and covariances with their prior; a state that has nothing keeps its mean."""
        assert observed.shift is not None
        size = len(observed.shift)
        pairs, firsts, weights = torch.split(sums, [size * size, size, 1], dim=-1)
        empty = weights <= 1e-10
        safe = weights.masked_fill(empty, 1.0)
        centred = firsts / safe
        outer = centred[..., :, None] * centred[..., None, :]
        scatter = pairs.reshape(*pairs.shape[:-1], size, size) - weights[..., None] * outer
        means = centred + observed.shift
        if previous is not None:
            means = torch.where(empty, previous["means"], means)
        if prior.variance is None:
            return {"means": means, "covariances": scatter / safe[..., None]}
        believed = torch.diag(prior.variance)
        total = (weights + prior.variance_weight)[..., None].clamp_min(1e-10)
        covariances = (scatter + prior.variance_weight * believed) / total
        if prior.variance_weight == 0:
            covariances = torch.where(empty[..., None], believed.expand_as(covariances), covariances)
        return {"means": means, "covariances": _above_floor(covariances, prior)}

    def log_prior(self, parameters: Parameters, prior: Prior) -> Float[Tensor, " P"]:
        """Return -½ν Σ (log |Σ| + tr Σ⁻¹ diag(s²)) with s² the data's variances."""
        covariances = parameters["covariances"]
        if prior.variance is None or prior.variance_weight == 0:
            return covariances.new_zeros(len(covariances))
        inverse_diagonal = torch.linalg.inv(covariances).diagonal(dim1=-2, dim2=-1)
        cost = torch.logdet(covariances) + (inverse_diagonal * prior.variance).sum(-1)
        log_prior: Tensor = -0.5 * prior.variance_weight * cost.flatten(1).sum(1)
        return log_prior

    def shapes(self, num_states: int, size: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of means and covariances."""
        return {"means": (num_states, size), "covariances": (num_states, size, size)}

    def num_free(self, num_states: int, size: int) -> int:
        """Return the number of means, variances and covariances."""
        return num_states * (size + size * (size + 1) // 2)

    def sample(
        self, parameters: Parameters, states: np.ndarray, series: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Draw from the normal density of each step's state."""
        factors = torch.linalg.cholesky(parameters["covariances"]).numpy()[series, states]
        means = parameters["means"].numpy()[series, states]
        drawn: np.ndarray = means + np.einsum("nij,nj->ni", factors, generator.standard_normal(means.shape))
        return drawn


def _above_floor(covariances: Tensor, prior: Prior) -> Tensor:
    """Raise eigenvalues to the floor: the best covariance above it."""
    assert prior.variance is not None
    scale = prior.variance.sqrt()
    outer = scale[:, None] * scale[None, :]
    values, vectors = torch.linalg.eigh(covariances / outer)
    if (values >= prior.variance_floor).all():
        return covariances
    raised = (vectors * values.clamp_min(prior.variance_floor)[..., None, :]) @ vectors.transpose(-1, -2)
    floored: Tensor = raised * outer
    return floored
