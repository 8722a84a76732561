"""Spike-and-slab densities and divergences: γ is the probability of the spike, so of a dimension being off."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

SPIKE_SCALE = 0.05  # the paper's σ → 0 in practice
_LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)


def log_normal(z: Float[Tensor, "*shape"], mean: Tensor | float, log_scale: Tensor | float) -> Float[Tensor, "*shape"]:
    """Return log N(z; mean, exp(log_scale)²), element by element."""
    log_scale = torch.as_tensor(log_scale, dtype=z.dtype, device=z.device)
    return -0.5 * ((z - mean) * torch.exp(-log_scale)) ** 2 - log_scale - _LOG_ROOT_TAU


def spike_slab_log_prob(
    z: Float[Tensor, "*B D"],
    off_logit: Float[Tensor, "*#B #D"],
    mean: Tensor | float = 0.0,
    log_scale: Tensor | float = 0.0,
    *,
    spike_scale: float = SPIKE_SCALE,
) -> Float[Tensor, "*B D"]:
    """Return log((1 − γ) N(z; mean, scale²) + γ N(z; 0, spike_scale²)) per dimension, with γ = sigmoid(off_logit).

    Section 2 of the paper with mean 0 and scale 1; the posterior's slab has its own. In log space, so that neither a
    γ of 0 or 1 nor a far z is a logarithm of zero.

    >>> spike_slab_log_prob(torch.zeros(1), torch.tensor([100.0]), spike_scale=1.0).item() == log_normal(
    ...     torch.zeros(1), 0.0, 0.0).item()
    True
    """
    slab = functional.logsigmoid(-off_logit) + log_normal(z, mean, log_scale)
    spike = functional.logsigmoid(off_logit) + log_normal(z, 0.0, math.log(spike_scale))
    return torch.logaddexp(slab, spike)


def gaussian_kl(
    mean: Float[Tensor, "*shape"],
    log_scale: Float[Tensor, "*shape"],
    prior_mean: Tensor | float = 0.0,
    prior_log_scale: Tensor | float = 0.0,
) -> Float[Tensor, "*shape"]:
    """Return KL(N(mean, scale²) ‖ N(prior_mean, prior_scale²)), element by element.

    >>> gaussian_kl(torch.tensor([0.0, 2.0]), torch.zeros(2)).tolist()
    [0.0, 2.0]
    """
    prior_log_scale = torch.as_tensor(prior_log_scale, dtype=mean.dtype, device=mean.device)
    difference = log_scale - prior_log_scale
    distance = (mean - prior_mean) * torch.exp(-prior_log_scale)
    return 0.5 * (torch.exp(2 * difference) + distance**2 - 1) - difference


def bernoulli_kl(logit: Float[Tensor, "*shape"], prior_logit: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return KL(Bernoulli(sigmoid(logit)) ‖ Bernoulli(sigmoid(prior_logit))), element by element.

    >>> bernoulli_kl(torch.tensor([3.0]), torch.tensor([3.0])).item()
    0.0
    """
    on = functional.logsigmoid(logit) - functional.logsigmoid(prior_logit)
    off = functional.logsigmoid(-logit) - functional.logsigmoid(-prior_logit)
    return torch.sigmoid(logit) * on + torch.sigmoid(-logit) * off


def spike_slab_kl(
    off_logit: Float[Tensor, "*B D"],
    mean: Float[Tensor, "*B D"],
    log_scale: Float[Tensor, "*B D"],
    prior_off_logit: Float[Tensor, "*#B D"] | None = None,
    prior_mean: Tensor | float = 0.0,
    prior_log_scale: Tensor | float = 0.0,
) -> Float[Tensor, "*B D"]:
    """Return the closed form KL(γ ‖ γ_p) + (1 − γ) KL(slab ‖ prior slab), per dimension.

    It is the KL of (component, z) together. Where the spike is a point (variational sparse coding) that is the KL of z
    itself; where it has a width, so that a z could be from either, it is an upper bound on it (the chain rule), and the
    closer the thinner the spike. HSVAE's q(z|γ, x) and p(z|γ) share γ: then (`prior_off_logit` None) the first term is
    0, and what is left is what the slab costs where a dimension is on.

    >>> spike_slab_kl(torch.zeros(1), torch.tensor([2.0]), torch.zeros(1)).item()
    1.0
    """
    of_slab = torch.sigmoid(-off_logit) * gaussian_kl(mean, log_scale, prior_mean, prior_log_scale)
    return of_slab if prior_off_logit is None else of_slab + bernoulli_kl(off_logit, prior_off_logit)


def spike_slab_kl_sampled(
    z: Float[Tensor, "*B D"],
    off_logit: Float[Tensor, "*B D"],
    mean: Float[Tensor, "*B D"],
    log_scale: Float[Tensor, "*B D"],
    *,
    spike_scale: float = SPIKE_SCALE,
) -> Float[Tensor, "*B D"]:
    """Return log q(z|γ, x) − log p(z|γ) of draws z from q: a Monte-Carlo estimate of the KL of the mixtures.

    Its mean is at most `spike_slab_kl`; a single draw may be negative. Equation (2) with M = 1 when z is one draw.
    """
    log_q = spike_slab_log_prob(z, off_logit, mean, log_scale, spike_scale=spike_scale)
    return log_q - spike_slab_log_prob(z, off_logit, spike_scale=spike_scale)
