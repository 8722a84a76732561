"""What training minimises: the negative bound (6), with the gradient that was asked for."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.models.discrete.gradients import SCORE_FUNCTION
from gossamer.models.discrete.module import DiscreteNetwork


def negative_bound(
    network: DiscreteNetwork,
    x: Float[Tensor, "B D"],
    gradient: str,
    num_samples: int,
    generator: torch.Generator | None,
    *,
    encoded: Float[Tensor, "B W"] | None = None,
    kl_weight: float = 1.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Return the mean loss over the batch, −E log p(x | z) + KL, and the mean KL.

    With a `kl_weight` of 1 and hard draws the value estimates a bound. It does not where `gradient` is "relaxed":
    that is the paper's objective.
    """
    encoded = network.encode(x) if encoded is None else encoded
    if gradient == SCORE_FUNCTION:
        return leave_one_out(network, x, encoded, num_samples, generator, kl_weight)
    temperatures = network.temperatures()
    losses, kls = [], []
    for _ in range(num_samples):
        code = network.latent.pathwise(encoded, gradient, temperatures, generator)
        kls.append(network.latent.kl(encoded, code).mean())
        losses.append(kl_weight * kls[-1] - network.log_likelihood(code, x).mean())
    return torch.stack(losses).mean(), torch.stack(kls).mean()


def leave_one_out(
    network: DiscreteNetwork,
    x: Float[Tensor, "B D"],
    encoded: Float[Tensor, "B W"],
    num_samples: int,
    generator: torch.Generator | None,
    kl_weight: float = 1.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Return −E f, f = log p(x | z) − `kl_weight` · KL, and the mean KL.

    The gradient in `encoded` is that of f plus −1/S Σ_s (f_s − mean of the others) ∇ log q(z_s), the score function
    with a leave-one-out baseline (Kool et al. 2019): unbiased, because a draw's baseline does not depend on it. The
    value is the plain mean.
    """
    drawn = network.latent.draw(encoded, num_samples, generator)
    kl = network.latent.kl(encoded, drawn.codes)
    gain = network.log_likelihood(drawn.codes, x) - kl_weight * kl
    mean = gain.detach().mean(dim=0)
    advantage = (gain.detach() - mean) * num_samples / (num_samples - 1)  # f_s − mean of the others
    score = advantage * drawn.log_q
    return -(gain + (score - score.detach())).mean(), kl.mean()
