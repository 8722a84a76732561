"""What is known of the latent variables of some documents: one normal distribution each, q(z; ψ)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Posterior:
    """Normal distributions with means and log variances (B, K), one per document: ψ = {μ, Σ} of eq. (2).

    >>> prior = Posterior(torch.zeros(2, 3), torch.zeros(2, 3))
    >>> prior.kl().tolist()
    [0.0, 0.0]
    """

    mean: Float[Tensor, "B K"]
    log_variance: Float[Tensor, "B K"]

    def __len__(self) -> int:
        return len(self.mean)

    def at(self, noise: Float[Tensor, "B K"]) -> Float[Tensor, "B K"]:
        """Return z = μ + noise · σ, the sample that standard normal `noise` stands for."""
        return torch.addcmul(self.mean, noise, torch.exp(self.log_variance / 2))

    def sample(self, generator: torch.Generator) -> Float[Tensor, "B K"]:
        """Return one z per document, with gradients to means and variances."""
        noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=generator.device)
        return self.at(noise.to(self.mean.device))

    def kl(self) -> Float[Tensor, " B"]:
        """Return KL(q ‖ N(0, I)) of each document."""
        variance = self.log_variance.exp()
        return (self.mean.square() + variance - self.log_variance - 1).sum(dim=1) / 2

    def kl_to(self, other: Posterior) -> Float[Tensor, " B"]:
        """Return KL(q ‖ other) of each document, as in figure 6: KL(ψ(x) ‖ ψ*)."""
        log_ratio = self.log_variance - other.log_variance
        distance = (self.mean - other.mean).square() * torch.exp(-other.log_variance)
        return (log_ratio.exp() + distance - log_ratio - 1).sum(dim=1) / 2

    def detach(self) -> Posterior:
        """Return the same distributions without their history."""
        return Posterior(self.mean.detach(), self.log_variance.detach())


@dataclass(frozen=True, eq=False)
class FullPosterior(Posterior):
    """Normal distributions with a covariance matrix each; `log_variance` is that of single coordinates.

    `factor` is the Cholesky factor of the covariance, lower triangular.
    """

    factor: Float[Tensor, "B K K"]

    @classmethod
    def of(cls, mean: Float[Tensor, "B K"], covariance: Float[Tensor, "B K K"]) -> Self:
        """Return the distributions with these means and covariances."""
        factor = torch.linalg.cholesky((covariance + covariance.transpose(1, 2)) / 2)
        return cls(mean, covariance.diagonal(dim1=1, dim2=2).log(), factor)

    def at(self, noise: Float[Tensor, "B K"]) -> Float[Tensor, "B K"]:
        """Return z = μ + L · noise, the sample that standard normal `noise` stands for."""
        return self.mean + (self.factor @ noise.unsqueeze(-1)).squeeze(-1)

    def kl(self) -> Float[Tensor, " B"]:
        """Return KL(q ‖ N(0, I)) of each document."""
        return self.kl_to(Posterior(torch.zeros_like(self.mean), torch.zeros_like(self.mean)))

    def kl_to(self, other: Posterior) -> Float[Tensor, " B"]:
        """Return KL(q ‖ other) of each document, to distributions with variances alone."""
        log_determinant = 2 * self.factor.diagonal(dim1=1, dim2=2).log().sum(dim=1)
        traces = torch.exp(self.log_variance - other.log_variance).sum(dim=1)
        distances = ((self.mean - other.mean).square() * torch.exp(-other.log_variance)).sum(dim=1)
        return (traces + distances + other.log_variance.sum(dim=1) - log_determinant - self.mean.shape[1]) / 2

    def detach(self) -> FullPosterior:
        """Return the same distributions without their history."""
        return FullPosterior(self.mean.detach(), self.log_variance.detach(), self.factor.detach())
