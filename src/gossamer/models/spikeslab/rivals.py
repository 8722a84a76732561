"""The two published rivals: MAT-VAE (Mathieu et al. 2019) and variational sparse coding (Tonolini et al. 2019)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.spikeslab.codes import Codes, Described, Drawn, draw_normal, make_head, split_parameters
from gossamer.models.spikeslab.discrepancy import mmd
from gossamer.models.spikeslab.spike_slab import (
    SPIKE_SCALE,
    bernoulli_kl,
    log_normal,
    spike_slab_kl,
    spike_slab_log_prob,
)

SHARPNESS = 100.0


class MatCodes(Codes):
    """MAT-VAE: a Gaussian posterior, a spike-and-slab prior of a fixed γ, an MMD between all codes and the prior."""

    def __init__(
        self, feature_dim: int, latent_dim: int, *, off_prob: float = 0.8, spike_scale: float = SPIKE_SCALE
    ) -> None:
        super().__init__()
        self.latent_dim, self.spike_scale = latent_dim, spike_scale
        self.off_logit = math.log(off_prob / (1 - off_prob))
        self.head = make_head(feature_dim, feature_dim, 2 * latent_dim)

    def draw(self, features: Float[Tensor, "B H"], generator: torch.Generator | None, num_samples: int = 1) -> Drawn:
        """Return codes, log q − log p of them (a Gaussian from a mixture has no closed KL) and the MMD (appendix B)."""
        mean, log_scale = split_parameters(self.head(features))
        z = draw_normal(mean, log_scale, generator, num_samples)
        logit = z.new_full((1,), self.off_logit)
        log_p = spike_slab_log_prob(z, logit, spike_scale=self.spike_scale)
        kl_z = (log_normal(z, mean, log_scale) - log_p).mean(dim=0).sum(dim=1)
        # Between the codes of a training batch only: elsewhere nobody asks for it, and it is quadratic in the rows.
        divergence = mmd(z[0], self.draw_prior(len(mean), generator).to(z)) if self.training else z.new_zeros(())
        return Drawn(z, kl_z, z.new_zeros(len(mean)), divergence, z.new_zeros(()), z.new_ones(()))

    def describe(self, features: Float[Tensor, "B H"]) -> Described:
        """Return the mean; the probability of being off is the spike's share of the prior's density there."""
        mean, _ = split_parameters(self.head(features))
        spike = self.off_logit + log_normal(mean, 0.0, math.log(self.spike_scale))
        return Described(mean, mean, torch.sigmoid(spike - log_normal(mean, 0.0, 0.0)))

    def draw_prior(self, count: int, generator: torch.Generator | None) -> Float[Tensor, "n D"]:
        """Return codes of the spike-and-slab prior."""
        shape = (count, self.latent_dim)
        is_off = torch.rand(shape, generator=generator) < torch.sigmoid(torch.tensor(self.off_logit))
        noise = torch.randn(shape, generator=generator)
        return torch.where(is_off, self.spike_scale * noise, noise)


class SparseCodingCodes(Codes):
    """Variational sparse coding: a spike that is a point, and a prior made of the posteriors of pseudo-inputs.

    A pseudo-input is a learned vector of features, in the place of a sentence's. The prior is the mean of their U
    posteriors; KL(q ‖ mean of p_u) ≤ −log mean_u exp(−KL(q ‖ p_u)), the closed bound that is used, lets each sentence
    choose the nearest. With U = 1 it is appendix B as printed. The mask is sigmoid(`SHARPNESS` · (noise − P(off))) in
    training and hard elsewhere. Over the first `warm_up` updates the slab goes from N(0, 1) to the posterior's own, so
    that codes are first told apart by which dimensions are on (spike warm-up).
    """

    slab_share: Tensor

    def __init__(
        self, feature_dim: int, latent_dim: int, *, off_prob: float = 0.8, num_pseudo_inputs: int = 8, warm_up: int = 0
    ) -> None:
        super().__init__()
        self.latent_dim, self.warm_up = latent_dim, max(1, warm_up)
        self.off_logit = math.log(off_prob / (1 - off_prob))
        self.gate_head = make_head(feature_dim, feature_dim, latent_dim)
        self.slab_head = make_head(feature_dim, feature_dim, 2 * latent_dim)
        self.pseudo_inputs = nn.Parameter(0.5 * torch.randn(num_pseudo_inputs, feature_dim))
        # How far the warm-up is; a buffer, so that checkpoints and artifacts know it.
        self.register_buffer("slab_share", torch.full((1,), 0.0 if warm_up else 1.0))
        last = self.gate_head[-1]
        assert isinstance(last, nn.Linear)
        nn.init.constant_(last.bias, self.off_logit)

    def advance(self) -> None:
        """Go on with the warm-up."""
        self.slab_share.add_(1 / self.warm_up).clamp_(max=1)

    def _posterior(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_scale = split_parameters(self.slab_head(features))
        share = float(self.slab_share)
        if share < 1:
            mean, log_scale = share * mean, 0.5 * torch.log(share * torch.exp(2 * log_scale) + 1 - share)
        return self.gate_head(features), mean, log_scale

    def draw(self, features: Float[Tensor, "B H"], generator: torch.Generator | None, num_samples: int = 1) -> Drawn:
        """Return codes, the bound on KL(q(z|x) ‖ prior), and J · KL(mean γ_u ‖ off_prob) as the divergence."""
        slab, mask, posterior = self._draw(features, generator, num_samples)
        to_each, of_pseudo = self._divergences(*posterior)
        kl_z = math.log(to_each.shape[1]) - torch.logsumexp(-to_each, dim=1)
        nothing = torch.zeros_like(kl_z)
        return Drawn(slab * mask, kl_z, nothing, of_pseudo, kl_z.new_zeros(()), mask.detach().mean())

    def draw_codes(self, features: Float[Tensor, "B H"], generator: torch.Generator | None) -> Float[Tensor, "B D"]:
        """Return one code per sentence, without its distances to all pseudo-inputs, which take much longer."""
        slab, mask, _ = self._draw(features, generator, 1)
        return (slab * mask)[0]

    def _draw(
        self, features: Tensor, generator: torch.Generator | None, num_samples: int
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Return slabs and masks, whose product are codes, and the posterior's parameters."""
        off_logit, mean, log_scale = self._posterior(features)
        slab = draw_normal(mean, log_scale, generator, num_samples)
        noise = torch.rand(slab.shape, generator=generator, dtype=slab.dtype, device=slab.device)
        margin = noise - torch.sigmoid(off_logit)
        mask = torch.sigmoid(SHARPNESS * margin) if self.training else (margin > 0).to(slab.dtype)
        return slab, mask, (off_logit, mean, log_scale)

    def _divergences(self, off_logit: Tensor, mean: Tensor, log_scale: Tensor) -> tuple[Tensor, Tensor]:
        """Return KL(q ‖ p_u) of each sentence and pseudo-input (B × U), and the pseudo-inputs' own term."""
        pseudo = [part.unsqueeze(0) for part in self._posterior(self.pseudo_inputs)]
        own = [part.unsqueeze(1) for part in (off_logit, mean, log_scale)]
        shape = (len(mean), len(self.pseudo_inputs), self.latent_dim)
        to_each = spike_slab_kl(*(part.expand(shape) for part in own), *pseudo).sum(dim=2)
        off_share = torch.sigmoid(pseudo[0][0]).mean(dim=1).clamp(1e-6, 1 - 1e-6)
        wanted = torch.full_like(off_share, self.off_logit)
        return to_each, self.latent_dim * bernoulli_kl(torch.logit(off_share), wanted).mean()

    def describe(self, features: Float[Tensor, "B H"]) -> Described:
        """Return P(on) μ as the mean."""
        off_logit, mean, _ = self._posterior(features)
        return Described(torch.sigmoid(-off_logit) * mean, mean, torch.sigmoid(off_logit))

    def draw_prior(self, count: int, generator: torch.Generator | None) -> Float[Tensor, "n D"]:
        """Return codes of pseudo-inputs drawn at random."""
        chosen = torch.randint(len(self.pseudo_inputs), (count,), generator=generator)
        off_logit, mean, log_scale = (part[chosen] for part in self._posterior(self.pseudo_inputs.detach()))
        is_on = torch.rand(mean.shape, generator=generator) > torch.sigmoid(off_logit)
        return is_on.to(mean.dtype) * draw_normal(mean, log_scale, generator, 1)[0]
