"""What is known of the latent variables of some documents: one diagonal normal distribution each, q(z; ψ)."""

from __future__ import annotations

from dataclasses import dataclass

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
