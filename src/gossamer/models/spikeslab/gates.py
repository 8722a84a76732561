"""The gates of HSVAE: Beta distributions of γ in log space, and a spike or a slab drawn so that gradients pass."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

# Outside this range draws of γ are 0 or 1 to the last bit and gradients of the Beta function lose all digits.
SMALLEST, LARGEST = 0.05, 200.0
MAX_LOGIT = 30.0


def concentrations(raw: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return a parameter of a Beta distribution from a network's output: softplus, kept in a safe range.

    Below the range the floor is added, so that the gradient never vanishes there; above it is cut off.

    >>> [round(value, 2) for value in concentrations(torch.tensor([-1e4, 0.0, 1e4])).tolist()]
    [0.05, 0.74, 200.0]
    """
    return (functional.softplus(raw) + SMALLEST).clamp(max=LARGEST)


def draw_beta_logit(
    alpha: Float[Tensor, "*B D"], beta: Float[Tensor, "*B D"], generator: torch.Generator | None = None
) -> Float[Tensor, "*B D"]:
    """Return log γ − log(1 − γ) of a draw γ ~ Beta(alpha, beta), with the gradient of implicit reparameterisation.

    γ = G_α / (G_α + G_β) with G_a ~ Gamma(a) = Gamma(a + 1) · U^(1/a). Torch differentiates a Gamma draw implicitly
    (Figurnov et al. 2018), a + 1 keeps it away from the region where draws underflow, and the logarithm of the power is
    exact however small a is: the logit is finite where γ itself would be 0 or 1.
    """
    logit = _draw_log_gamma(alpha, generator) - _draw_log_gamma(beta, generator)
    return logit.clamp(-MAX_LOGIT, MAX_LOGIT)


def _draw_log_gamma(a: Tensor, generator: torch.Generator | None) -> Tensor:
    tiny = torch.finfo(a.dtype).tiny
    uniform = torch.rand(a.shape, generator=generator, dtype=a.dtype, device=a.device).clamp_min(tiny)
    larger = torch._standard_gamma(a + 1, generator=generator)
    return torch.log(larger.clamp_min(tiny)) + torch.log(uniform) / a


def beta_kl(
    alpha: Float[Tensor, "*shape"],
    beta: Float[Tensor, "*shape"],
    prior_alpha: Tensor | float,
    prior_beta: Tensor | float,
) -> Float[Tensor, "*shape"]:
    """Return KL(Beta(alpha, beta) ‖ Beta(prior_alpha, prior_beta)), element by element, from log-gammas and digammas.

    >>> beta_kl(torch.tensor([4.0]), torch.tensor([1.0]), 4.0, 1.0).item()
    0.0
    """
    prior_alpha = torch.as_tensor(prior_alpha, dtype=alpha.dtype, device=alpha.device)
    prior_beta = torch.as_tensor(prior_beta, dtype=alpha.dtype, device=alpha.device)
    total = alpha + beta
    normalisers = _log_beta(prior_alpha, prior_beta) - _log_beta(alpha, beta)
    return (
        normalisers
        + (alpha - prior_alpha) * torch.digamma(alpha)
        + (beta - prior_beta) * torch.digamma(beta)
        + (prior_alpha - alpha + prior_beta - beta) * torch.digamma(total)
    )


def _log_beta(alpha: Tensor, beta: Tensor) -> Tensor:
    return torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(alpha + beta)


def draw_switch(
    off_logit: Float[Tensor, "*B D"], temperature: float, generator: torch.Generator | None = None
) -> Float[Tensor, "*B D"]:
    """Return 1 (off, the spike) with probability sigmoid(off_logit), else 0; the gradient is the relaxed draw's.

    Binary concrete (Maddison et al. 2016), straight through: what goes forward is the exact Bernoulli draw, what comes
    back is the derivative of sigmoid((logit + logistic noise) / temperature).
    """
    tiny = torch.finfo(off_logit.dtype).eps
    shape, dtype, device = off_logit.shape, off_logit.dtype, off_logit.device
    uniform = torch.rand(shape, generator=generator, dtype=dtype, device=device).clamp(tiny, 1 - tiny)
    relaxed = torch.sigmoid((off_logit + torch.logit(uniform)) / temperature)
    return (relaxed > 0.5).to(dtype) + (relaxed - relaxed.detach())  # the bracket is exactly 0
