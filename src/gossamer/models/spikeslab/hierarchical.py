"""HSVAE's codes: a Beta posterior of γ, given γ a spike-and-slab posterior of z (section 3 of the paper)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.spikeslab.codes import Codes, Described, Drawn, draw_normal, make_head, split_parameters
from gossamer.models.spikeslab.gates import (
    LARGEST,
    SMALLEST,
    BalancedScores,
    balanced_off_logit,
    beta_kl,
    concentrations,
    draw_beta_logit,
    draw_switch,
)
from gossamer.models.spikeslab.spike_slab import SPIKE_SCALE, spike_slab_kl, spike_slab_kl_sampled

DIVERGENCES = ("joint", "mixture")
GATES = ("balanced", "free")
# Of balanced gates: how far apart sentences are in logits of P(off), and the least concentration of q(γ|x), with which
# the smallest parameter of a Beta distribution still allows P(off) from 0.01 to 0.99.
DECISIVENESS, LEAST_CONCENTRATION = 12.0, 4.0
SIZE_POWER = 2 / 3


class HierarchicalCodes(Codes):
    """γ ~ Beta, z | γ ~ spike and slab, both given the sentence; priors Beta(alpha, beta) and a slab N(0, 1).

    `divergence` is how KL(q(z|γ, x) ‖ p(z|γ)) is computed: "joint" in closed form, "mixture" from the draws
    (`spike_slab.py`). Posteriors of γ begin as the prior: what opens a gate is then the sentence, and not chance.

    Gates are "free", both parameters of q(γ|x) whatever the network says, as in the paper, or "balanced": a dimension
    is on where its slab's mean is far from 0, compared in such a way that every dimension is on for a like share of
    sentences and every sentence has a like number of dimensions on, the prior's. Free gates stay near the prior and
    switch by chance, or some dimensions are always on and others never; balanced ones have to tell sentences apart, and
    what is off is what would have been small: a code is a threshold of the slab's means, from which they can be read.
    The larger `decisiveness`, the fewer gates are left to chance, which hides from a draw what the sentence says.
    As in k-sparse autoencoders (Makhzani & Frey 2013) the choice of dimensions has no gradient of its own: means learn
    from the words alone, and KL(γ) moves only how concentrated q(γ|x) is. It is large, and part of the ELBO.
    """

    log_alpha: Tensor
    log_beta: Tensor

    def __init__(
        self,
        feature_dim: int,
        latent_dim: int,
        *,
        alpha: float = 4.0,
        beta: float = 1.0,
        spike_scale: float = SPIKE_SCALE,
        temperature: float = 0.5,
        divergence: str = "joint",
        gates: str = "balanced",
        decisiveness: float = DECISIVENESS,
    ) -> None:
        super().__init__()
        self.latent_dim, self.divergence, self.decisiveness = latent_dim, divergence, decisiveness
        self.spike_scale, self.temperature = spike_scale, temperature
        # Buffers, because the dial turns alpha while training, and a checkpoint and an artifact must hold it.
        self.register_buffer("log_alpha", torch.tensor([math.log(alpha)]))
        self.register_buffer("log_beta", torch.tensor([math.log(beta)]))
        self.balance = BalancedScores(latent_dim) if gates == "balanced" else None
        # Free: both parameters, then a slab that knows γ. Balanced: the concentration; the slab comes before γ.
        is_free = self.balance is None
        self.gate_head = make_head(feature_dim, feature_dim, 2 * latent_dim if is_free else latent_dim)
        self.slab_head = make_head(feature_dim + latent_dim * is_free, feature_dim, 2 * latent_dim)
        self._start_at_prior(alpha, beta)

    @torch.no_grad()
    def _start_at_prior(self, alpha: float, beta: float) -> None:
        last = self.gate_head[-1]
        assert isinstance(last, nn.Linear)
        if self.balance is None:
            first, second = last.bias.chunk(2)
            first.fill_(_before_softplus(alpha - SMALLEST))
            second.fill_(_before_softplus(beta - SMALLEST))
        else:
            last.bias.fill_(_before_softplus(alpha + beta - SMALLEST - LEAST_CONCENTRATION))

    def gates(self, features: Float[Tensor, "B H"]) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
        """Return the two parameters of q(γ|x)."""
        raw = self.gate_head(features)
        if self.balance is None:
            first, second = concentrations(raw).chunk(2, dim=1)
            return first, second
        # Gates follow means and do not pull at them: the gradient through a score is ten times that through the value
        # when training begins, and drowns it.
        size = symmetric_size(self._slab(features, None)[0].detach())
        off_logit = balanced_off_logit(self.balance(-size), self.log_alpha - self.log_beta, self.decisiveness)
        total = LEAST_CONCENTRATION + concentrations(raw)
        alpha, beta = total * torch.sigmoid(off_logit), total * torch.sigmoid(-off_logit)
        return alpha.clamp_min(SMALLEST), beta.clamp_min(SMALLEST)

    def _slab(self, features: Tensor, off_probs: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return mean and log scale of the slab; of balanced gates, which come from the mean, it does not hear."""
        if self.balance is None and off_probs is not None:
            # A spike's probability of 0.5 is neither here nor there: centred, as inputs should be.
            features = torch.cat([features, off_probs - 0.5], dim=1)
        return split_parameters(self.slab_head(features))

    def draw(self, features: Float[Tensor, "B H"], generator: torch.Generator | None, num_samples: int = 1) -> Drawn:
        """Return one γ and `num_samples` codes given it (appendix D), and both KLs of equation (2)."""
        z, is_off, off_logit, (alpha, beta), (mean, log_scale) = self._draw(features, generator, num_samples)
        if self.divergence == "joint":
            kl_z = spike_slab_kl(off_logit, mean, log_scale)
        else:
            wide = [part.expand_as(z) for part in (off_logit, mean, log_scale)]
            kl_z = spike_slab_kl_sampled(z, *wide, spike_scale=self.spike_scale).mean(dim=0)
        kl_gamma = beta_kl(alpha, beta, self.log_alpha.exp(), self.log_beta.exp())
        nothing = z.new_zeros(())
        return Drawn(z, kl_z.sum(dim=1), kl_gamma.sum(dim=1), nothing, nothing, 1 - is_off.detach().mean())

    def draw_codes(self, features: Float[Tensor, "B H"], generator: torch.Generator | None) -> Float[Tensor, "B D"]:
        """Return one code per sentence, without the KLs, which take longer than the code."""
        return self._draw(features, generator, 1)[0][0]

    def _draw(
        self, features: Tensor, generator: torch.Generator | None, num_samples: int
    ) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Return codes, what is off of them, logit γ, and the parameters of γ and of the slab."""
        alpha, beta = self.gates(features)
        off_logit = draw_beta_logit(alpha, beta, generator)
        mean, log_scale = self._slab(features, torch.sigmoid(off_logit))
        is_off = draw_switch(off_logit.expand(num_samples, *off_logit.shape), self.temperature, generator)
        slab = draw_normal(mean, log_scale, generator, num_samples)
        spike = self.spike_scale * torch.randn(slab.shape, generator=generator, dtype=slab.dtype, device=slab.device)
        return (1 - is_off) * slab + is_off * spike, is_off, off_logit, (alpha, beta), (mean, log_scale)

    def describe(self, features: Float[Tensor, "B H"]) -> Described:
        """Return (1 − E[γ]) μ(E[γ]) as the mean, and E[γ] as the probability of being off."""
        alpha, beta = self.gates(features)
        off_probs = alpha / (alpha + beta)
        mean, _ = self._slab(features, off_probs)
        return Described((1 - off_probs) * mean, mean, off_probs)

    def draw_prior(self, count: int, generator: torch.Generator | None) -> Float[Tensor, "n D"]:
        """Return codes of p(z|γ) p(γ)."""
        shape = (count, self.latent_dim)
        off_logit = draw_beta_logit(self.log_alpha.exp().expand(shape), self.log_beta.exp().expand(shape), generator)
        is_off = draw_switch(off_logit, self.temperature, generator)
        noise = torch.randn(shape, generator=generator)
        return torch.where(is_off > 0.5, self.spike_scale * noise, noise)


def symmetric_size(mean: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
    """Return |μ|^(2/3), whose order is that of |μ|: the cube root of a squared normal number is nearly normal.

    (Wilson & Hilferty 1931.) Scores that are skewed would shut more gates, or fewer, than they are asked to.

    >>> mean = torch.randn(1, 10_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> sizes = torch.cat([mean.abs(), symmetric_size(mean)])
    >>> ((sizes.mean(dim=1) - sizes.median(dim=1).values) / sizes.std(dim=1)).round(decimals=1).tolist()
    [0.2, 0.1]
    """
    return mean.abs().pow(SIZE_POWER)


def _before_softplus(value: float) -> float:
    """Return what softplus makes `value` of, kept in the range where both have gradients."""
    above = min(max(value, 1e-2), LARGEST / 4)
    return above + math.log(-math.expm1(-above))
