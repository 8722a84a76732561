"""Refinement as published: Adam on means and log variances, one fresh sample per step, a block of documents at once."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.models.counts.block_likelihood import BlockLikelihood
from gossamer.models.counts.hidden_trace import trace_hidden
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.posterior import Posterior

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.1, 0.999, 1e-8  # the paper's code has β₁ = 0.1, not 0.9
WINDOW, PATIENCE = (
    10,
    3,
)  # single-sample bounds are noisy: means of ten steps are compared, and three of them must not rise


def climb_by_adam(
    decoder: Decoder,
    block: BlockLikelihood,
    start: Posterior,
    num_steps: int,
    learning_rate: float,
    tolerance: float | None,
    generator: torch.Generator,
) -> Posterior:
    """Return ψ_M by ψ_{m+1} = ψ_m + η · Adam(∂L/∂ψ_m), step 2 of algorithm 3.

    With a `tolerance`, a row ends when the mean bound of ten steps was three times in a row no more than so many nats
    above the best that ten steps had before.
    """
    found = torch.stack([start.mean, start.log_variance])  # (2, B, K): both are moved by the same few operations
    values, rows = found.clone(), torch.arange(len(start), device=found.device)
    first, second = torch.zeros_like(values), torch.zeros_like(values)
    space = block.logits_space()
    recent, best = values.new_zeros(len(rows)), values.new_full((len(rows),), -torch.inf)
    without_rise = torch.zeros_like(rows)
    for step in range(1, num_steps + 1):
        # Drawn for all rows of the block, so that what one row gets does not depend on which others have ended.
        drawn = torch.randn(start.mean.shape, generator=generator, dtype=values.dtype, device=generator.device)
        noise = drawn.to(values.device)[rows]
        bounds, gradient = bound_and_gradient(decoder, block, values, noise, space[: len(rows)])
        first.lerp_(gradient, 1 - FIRST_DECAY)
        second.mul_(SECOND_DECAY).addcmul_(gradient, gradient, value=1 - SECOND_DECAY)
        scale = (second / (1 - SECOND_DECAY**step)).sqrt_().add_(EPSILON)
        values.addcdiv_(first, scale, value=learning_rate / (1 - FIRST_DECAY**step))
        recent += bounds
        if tolerance is not None and step % WINDOW == 0:
            rises = recent / WINDOW > best + tolerance
            without_rise = torch.where(rises, 0, without_rise + 1)
            goes_on = without_rise < PATIENCE
            found[:, rows] = values
            rows, block, without_rise = rows[goes_on], block.take(goes_on), without_rise[goes_on]
            best = torch.maximum(best, recent / WINDOW)[goes_on]
            values, first, second = values[:, goes_on], first[:, goes_on], second[:, goes_on]
            recent = torch.zeros_like(best)
            if not len(rows):
                break
    found[:, rows] = values
    return Posterior(found[0], found[1])


def bound_and_gradient(
    decoder: Decoder,
    block: BlockLikelihood,
    values: Float[Tensor, "2 B K"],
    noise: Float[Tensor, "B K"],
    space: Float[Tensor, "B V"],
) -> tuple[Float[Tensor, " B"], Float[Tensor, "2 B K"]]:
    """Return the bound (2) at z = μ + noise · σ and its gradient in μ and log σ²; `space` is overwritten.

    With g = ∂ log p(x | z) / ∂z: g − μ, and (g · noise · σ + 1 − σ²) / 2.
    """
    mean, log_variance = values
    variance = log_variance.exp()
    spread = noise * variance.sqrt()
    traced = trace_hidden(decoder, mean + spread)
    likelihood, for_hidden = block.value_and_gradient(traced.hidden, space)
    for_z = traced.pull_back(for_hidden)
    kl = (mean.square() + variance - log_variance - 1).sum(dim=1) / 2
    return likelihood - kl, torch.stack([for_z - mean, (for_z * spread + 1 - variance) / 2])
