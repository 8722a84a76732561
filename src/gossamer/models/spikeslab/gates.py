"""The gates of HSVAE: Beta distributions of γ in log space, and a spike or a slab drawn so that gradients pass."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
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


class UncountedNorm(nn.BatchNorm1d):
    """Batch normalisation without its counter of batches: nothing here reads it, and artifacts hold real numbers."""

    # BatchNorm's own adds the counter to states without torch's metadata, such as those of checkpoints and artifacts.
    _load_from_state_dict = nn.Module._load_from_state_dict

    def __init__(self, num_features: int, *, affine: bool, momentum: float) -> None:
        super().__init__(num_features, affine=affine, momentum=momentum)
        self.num_batches_tracked = None


class BalancedScores(nn.Module):
    """Scores of gates that compare: over sentences within a dimension, then over the dimensions of a sentence.

    Both have mean 0 and deviation 1 afterwards, so a dimension is on for its share of sentences and a sentence has its
    share of dimensions on, whatever the network does; what is left to learn is which. In training the statistics of
    dimensions are the batch's, and running means are kept for later, as in batch normalisation.
    """

    def __init__(self, latent_dim: int) -> None:
        super().__init__()
        self.over_sentences = UncountedNorm(latent_dim, affine=False, momentum=0.05)

    def forward(self, scores: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the scores in balance."""
        if self.training and len(scores) == 1:  # one sentence has no deviation
            norm = self.over_sentences
            assert norm.running_mean is not None
            assert norm.running_var is not None
            scores = (scores - norm.running_mean) / (norm.running_var + norm.eps).sqrt()
        else:
            scores = self.over_sentences(scores)
        centred = scores - scores.mean(dim=1, keepdim=True)
        return centred / (centred.square().mean(dim=1, keepdim=True) + self.over_sentences.eps).sqrt()


def balanced_off_logit(
    scores: Float[Tensor, "B D"], log_odds: Float[Tensor, "*one"], decisiveness: float
) -> Float[Tensor, "B D"]:
    """Return the logit of P(off) such that its mean over normal `scores` has about the odds that are asked for.

    The larger `decisiveness`, the fewer gates are left to chance. E[sigmoid(m + d·s)] is about sigmoid of
    m / sqrt(1 + π d² / 8) for a normal s (MacKay 1992).

    >>> scores = torch.randn(1000, 50, generator=torch.Generator().manual_seed(0))
    >>> off = torch.sigmoid(balanced_off_logit(scores, torch.tensor(4.0).log(), 4.0))
    >>> bool((off.mean() - 0.8).abs() < 0.02)
    True
    """
    return log_odds * math.sqrt(1 + math.pi * decisiveness**2 / 8) + decisiveness * scores
