"""One-hot choices that gradients pass through: every way here is for independent categoricals with logits (…, C).

The forward value is a hard one-hot draw, except of "relaxed" ones. What differs is how the gradient of f(choice)
reaches the logits; only "score-function" (in `objective.py`) is unbiased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

GUMBEL_RAO_SAMPLES = 10
TINY = 1e-20  # in place of a uniform number that is 0


def draw_choices(logits: Float[Tensor, "*B C"], generator: torch.Generator | None) -> Int[Tensor, "*B"]:
    """Return the number of the option drawn from softmax(logits), by the Gumbel-max trick."""
    return (logits + gumbel(logits, generator)).argmax(dim=-1)


def hard(
    logits: Float[Tensor, "*B C"], temperature: Tensor | float, generator: torch.Generator | None
) -> Float[Tensor, "*B C"]:
    """Return one-hot draws without a gradient; the temperature has no part in it."""
    del temperature
    return _one_hot(draw_choices(logits.detach(), generator), logits)


def relaxed(
    logits: Float[Tensor, "*B C"], temperature: Tensor | float, generator: torch.Generator | None
) -> Float[Tensor, "*B C"]:
    """Return Gumbel-softmax draws, equations (8) and (10): softmax((logits + Gumbel noise) / τ), inside the simplex."""
    return ((logits + gumbel(logits, generator)) / temperature).softmax(dim=-1)


def straight_through(
    logits: Float[Tensor, "*B C"], temperature: Tensor | float, generator: torch.Generator | None
) -> Float[Tensor, "*B C"]:
    """Return hard draws whose gradient is that of their probabilities at τ (Bengio et al. 2013)."""
    return with_gradient_of(hard(logits, 1.0, generator), (logits / temperature).softmax(dim=-1))


def gumbel_straight_through(
    logits: Float[Tensor, "*B C"], temperature: Tensor | float, generator: torch.Generator | None
) -> Float[Tensor, "*B C"]:
    """Return hard draws whose gradient is that of the relaxed draw with the same noise (Jang et al. 2017)."""
    noisy = logits + gumbel(logits, generator)
    drawn = _one_hot(noisy.argmax(dim=-1), logits)
    return with_gradient_of(drawn, (noisy / temperature).softmax(dim=-1))


def gumbel_rao(
    logits: Float[Tensor, "*B C"], temperature: Tensor | float, generator: torch.Generator | None
) -> Float[Tensor, "*B C"]:
    """Return hard draws whose gradient is the mean of relaxed ones that lead to the same draw (Paulus et al. 2021).

    Given that option i has won, its noisy logit is log Z − log E_i, that of another j −log(E_j / e^θ_j + E_i / Z), E
    exponential. Ten such completions instead of one: less variance, the same bias as "gumbel-straight-through".
    """
    drawn = hard(logits, 1.0, generator)
    wide = logits.unsqueeze(0).expand(GUMBEL_RAO_SAMPLES, *logits.shape)
    clocks = _exponential(wide.shape, logits, generator)
    log_total = logits.detach().logsumexp(dim=-1, keepdim=True)
    first = (clocks * drawn).sum(dim=-1, keepdim=True)
    won = log_total - first.log()
    lost = -torch.log(clocks * torch.exp(-wide.detach()) + first * torch.exp(-log_total))
    shift = torch.where(drawn.bool(), won, lost) - wide.detach()  # the noise stands still, the logits move
    return with_gradient_of(drawn, ((wide + shift) / temperature).softmax(dim=-1).mean(dim=0))


def reinmax(
    logits: Float[Tensor, "*B C"], temperature: Tensor | float, generator: torch.Generator | None
) -> Float[Tensor, "*B C"]:
    """Return hard draws with Heun's second-order gradient (Liu et al. 2023), exact for a quadratic f.

    With D the draw, π₀ its probabilities and π₁ = (D + π_τ) / 2 it is 2·∂softmax at π₁ − ½·∂softmax at π₀.
    """
    drawn = hard(logits, 1.0, generator)
    result: Tensor = _ReinMax.apply(logits, temperature, drawn)  # type: ignore[no-untyped-call]
    return result


Sampler = Callable[[Tensor, Tensor | float, torch.Generator | None], Tensor]
PATHWISE: dict[str, Sampler] = {
    "relaxed": relaxed,
    "straight-through": straight_through,
    "gumbel-straight-through": gumbel_straight_through,
    "gumbel-rao": gumbel_rao,
    "reinmax": reinmax,
}
SCORE_FUNCTION = "score-function"
GRADIENTS = (*PATHWISE, SCORE_FUNCTION)


class _ReinMax(torch.autograd.Function):
    """The gradient of `reinmax`, written out: as a graph of softmaxes it takes four times as long."""

    @staticmethod
    def forward(context: Any, logits: Tensor, temperature: Tensor | float, drawn: Tensor) -> Tensor:
        probs = logits.softmax(dim=-1)
        middle = (logits / temperature).softmax(dim=-1).add_(drawn).mul_(0.5)
        context.save_for_backward(probs, middle)
        return drawn.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        probs, middle = context.saved_tensors
        return 2 * _softmax_slope(middle, gradient) - _softmax_slope(probs, gradient) / 2, None, None


class _Through(torch.autograd.Function):
    """A value with the gradient of another: exactly 0 or 1, which value + (other − other.detach()) may not be."""

    @staticmethod
    def forward(context: Any, value: Tensor, surrogate: Tensor) -> Tensor:
        del context, surrogate
        return value.clone()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, Tensor]:
        del context
        return None, gradient


def with_gradient_of(value: Tensor, surrogate: Tensor) -> Tensor:
    """Return `value` for the decoder, and for the encoder the gradient of `surrogate`."""
    result: Tensor = _Through.apply(value, surrogate)  # type: ignore[no-untyped-call]
    return result


def gumbel(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return Gumbel(0, 1) noise of a tensor's shape: −log(−log u), six times as fast as torch's exponential numbers."""
    return _exponential(like.shape, like, generator).log_().neg_()


def _softmax_slope(probs: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient in the logits of probs = softmax(logits), given that in `probs`."""
    weighted = probs * gradient
    return weighted - probs * weighted.sum(dim=-1, keepdim=True)


def _one_hot(choice: Tensor, like: Tensor) -> Tensor:
    return functional.one_hot(choice, like.shape[-1]).to(like.dtype)


def _exponential(shape: Sequence[int], like: Tensor, generator: torch.Generator | None) -> Tensor:
    drawn = torch.rand(shape, generator=generator, dtype=like.dtype, device=like.device)
    return drawn.clamp_min_(TINY).log_().neg_()
