"""What all distributions of codes have: how codes are drawn from features, and which dimensions are off."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from gossamer.models.spikeslab.spike_slab import gaussian_kl

LOWEST_LOG_SCALE, HIGHEST_LOG_SCALE = -5.0, 3.0


@dataclass(frozen=True)
class Drawn:
    """M codes per sentence and what they cost in nats, before any weights.

    `kl_z` and `kl_gamma` are per sentence. `divergence` is of the batch as a whole (an MMD, the pseudo-inputs' share of
    open gates), `penalty` a norm of the posterior's parameters, `on_share` how much of the codes is on.
    """

    z: Float[Tensor, "M B D"]
    kl_z: Float[Tensor, " B"]
    kl_gamma: Float[Tensor, " B"]
    divergence: Float[Tensor, ""]
    penalty: Float[Tensor, ""]
    on_share: Float[Tensor, ""]


@dataclass(frozen=True)
class Described:
    """The posterior of a code in numbers: E[z], what z is where it is on, and the probability that it is off."""

    mean: Float[Tensor, "B D"]
    slab_mean: Float[Tensor, "B D"]
    off_probs: Float[Tensor, "B D"]

    @property
    def is_off(self) -> Bool[Tensor, "B D"]:
        """Whether a dimension is off rather than on, the paper's Binarise of section 4.4."""
        return self.off_probs >= 0.5


class Codes(nn.Module, ABC):
    """A posterior of codes given features, and its prior."""

    latent_dim: int

    @abstractmethod
    def draw(self, features: Float[Tensor, "B H"], generator: torch.Generator | None, num_samples: int = 1) -> Drawn:
        """Return `num_samples` codes per sentence (M of equation 2), with gradients, and their costs."""

    def draw_codes(self, features: Float[Tensor, "B H"], generator: torch.Generator | None) -> Float[Tensor, "B D"]:
        """Return one code per sentence, that of `draw`, for those who do not ask what it costs."""
        return self.draw(features, generator).z[0]

    @abstractmethod
    def describe(self, features: Float[Tensor, "B H"]) -> Described:
        """Return the posterior in numbers, without drawing."""

    @abstractmethod
    def draw_prior(self, count: int, generator: torch.Generator | None) -> Float[Tensor, "n D"]:
        """Return codes of the prior."""

    def advance(self) -> None:
        """Take note of an update; only distributions with a warm-up care."""


class GaussianCodes(Codes):
    """The plain VAE (Higgins et al. 2017 with a weight on the KL): a Gaussian posterior, a standard normal prior.

    `norm` "l1" or "l2" is that of section 4.1.2: the sum of |μ| + |σ|, or of their squares, per sentence.
    """

    def __init__(self, feature_dim: int, latent_dim: int, *, norm: str = "none") -> None:
        super().__init__()
        self.latent_dim, self.norm = latent_dim, norm
        self.head = make_head(feature_dim, feature_dim, 2 * latent_dim)

    def draw(self, features: Float[Tensor, "B H"], generator: torch.Generator | None, num_samples: int = 1) -> Drawn:
        """Return codes by the reparameterisation trick, and the closed KL of equation (1)."""
        mean, log_scale = split_parameters(self.head(features))
        z = draw_normal(mean, log_scale, generator, num_samples)
        kl_z = gaussian_kl(mean, log_scale).sum(dim=1)
        return Drawn(z, kl_z, torch.zeros_like(kl_z), z.new_zeros(()), self._penalty(mean, log_scale), z.new_ones(()))

    def describe(self, features: Float[Tensor, "B H"]) -> Described:
        """Return the mean; no dimension is ever off."""
        mean, _ = split_parameters(self.head(features))
        return Described(mean, mean, torch.zeros_like(mean))

    def draw_prior(self, count: int, generator: torch.Generator | None) -> Float[Tensor, "n D"]:
        """Return standard normal codes."""
        return torch.randn(count, self.latent_dim, generator=generator)

    def _penalty(self, mean: Tensor, log_scale: Tensor) -> Tensor:
        scale = log_scale.exp()
        if self.norm == "l1":
            return (mean.abs() + scale).sum(dim=1).mean()
        return (mean**2 + scale**2).sum(dim=1).mean() if self.norm == "l2" else mean.new_zeros(())


def make_head(input_dim: int, hidden_dim: int, output_dim: int) -> nn.Sequential:
    """Return the MLP between features and the parameters of a posterior: one hidden layer."""
    return nn.Sequential(nn.Linear(input_dim, hidden_dim), nn.LeakyReLU(), nn.Linear(hidden_dim, output_dim))


def split_parameters(output: Float[Tensor, "B W"]) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
    """Return means and log scales, the latter in a range where neither they nor their squares overflow."""
    mean, log_scale = output.chunk(2, dim=1)
    return mean, log_scale.clamp(LOWEST_LOG_SCALE, HIGHEST_LOG_SCALE)


def draw_normal(
    mean: Float[Tensor, "B D"], log_scale: Float[Tensor, "B D"], generator: torch.Generator | None, num_samples: int
) -> Float[Tensor, "M B D"]:
    """Return mean + scale · noise, `num_samples` times."""
    shape = (num_samples, *mean.shape)
    noise = torch.randn(shape, generator=generator, dtype=mean.dtype, device=mean.device)
    return mean + log_scale.exp() * noise
