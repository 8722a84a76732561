"""The price of knowing a number: KL(N(θ, σ²) ‖ log-uniform), a function of α = σ²/θ² alone.

In the approximation of Molchanov, Ashukha & Vetrov, "Variational dropout sparsifies deep neural networks", ICML 2017,
equation 14.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

K1, K2, K3 = 0.63576, 1.87320, 1.48695
SMALLEST_SQUARE = 1e-12  # keeps log θ² finite; a mean of exactly zero gets no gradient
NUMBERS_AT_ONCE = 1 << 16  # so that a block's temporaries stay in the cache


def log_uniform_kl(log_alpha: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the divergence, elementwise, shifted to vanish as α grows; at most 0.01 off.

    >>> log_uniform_kl(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([1.5405, 0.4312, 0.0684])
    """
    return K1 * torch.sigmoid(-(K2 + K3 * log_alpha)) + 0.5 * functional.softplus(-log_alpha)


def log_alpha_of(means: Float[Tensor, "*shape"], log_variance: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return log σ²/θ²."""
    return log_variance - torch.log(means.square() + SMALLEST_SQUARE)


def summed_kl(means: Float[Tensor, "V D"], log_variance: Float[Tensor, "V D"]) -> Float[Tensor, ""]:
    """Return Σ KL over a whole table: what `log_uniform_kl` gives, in a fraction of the time and memory."""
    total: Tensor = _SummedKL.apply(means, log_variance)  # type: ignore[no-untyped-call]
    return total


class _SummedKL(torch.autograd.Function):
    """Block by block with the derivative in closed form, because every step of training asks for the whole table."""

    @staticmethod
    def forward(context: Any, means: Tensor, log_variance: Tensor) -> Tensor:
        total, slopes = 0.0, torch.empty_like(means)
        for rows in _blocks(means):
            log_alpha = log_alpha_of(means[rows], log_variance[rows])
            total += float(log_uniform_kl(log_alpha).sum())
            known = torch.sigmoid(K2 + K3 * log_alpha)
            slopes[rows] = -K1 * K3 * known * (1 - known) - 0.5 * torch.sigmoid(-log_alpha)
        context.save_for_backward(means, slopes)
        return means.new_tensor(total)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        means, slopes = context.saved_tensors
        of_variances = slopes * gradient
        of_means = torch.empty_like(means)
        for rows in _blocks(means):
            of_means[rows] = -2 * means[rows] / (means[rows].square() + SMALLEST_SQUARE) * of_variances[rows]
        return of_means, of_variances


def _blocks(table: Tensor) -> Iterator[slice]:
    size = max(1, NUMBERS_AT_ONCE // table.shape[1])
    return (slice(start, start + size) for start in range(0, len(table), size))
