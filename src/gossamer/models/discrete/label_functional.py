"""Probabilities of label sets that are made of at most L₀ gated draws (section III-C), without sampling.

An observation's labels are what L₀ draws hit: each is open with probability λ and then falls on label k with
probability π_k. So a_k = λ·π_k is the rate of label k, and everything below is a function of log a (B, K). Rates may
sum to less than λ: in the conditional variant, draws also fall on latent features.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

MAX_RATE = 1 - 1e-6  # a draw that is certain would make log(1 − a) infinite
MIN_PROB = 1e-6


def log_label_rates(encoded: Float[Tensor, "B W"], num_labels: int) -> Float[Tensor, "B K"]:
    """Return log λ + log π_k of the labels; `encoded` has the logits of all features and last the gate's."""
    log_probs = encoded[:, :-1].log_softmax(dim=-1)[:, :num_labels]
    return log_probs + functional.logsigmoid(encoded[:, -1:])


def label_probs(log_rates: Float[Tensor, "B K"], max_active: int) -> Float[Tensor, "B K"]:
    """Return P(y_k = 1) = 1 − (1 − a_k)^L₀: one of L₀ independent draws is open and falls on k.

    >>> label_probs(torch.tensor([[0.5, 0.25]]).log(), max_active=2)
    tensor([[0.7500, 0.4375]])
    """
    return -torch.expm1(_log_off(log_rates, max_active))


def marginal_nll(log_rates: Float[Tensor, "B K"], labels: Float[Tensor, "B K"], max_active: int) -> Float[Tensor, " B"]:
    """Return −Σ_k log P(y_k), the labels' own probabilities as if they were independent (a composite likelihood)."""
    log_off = _log_off(log_rates, max_active)
    log_on = torch.log(-torch.expm1(log_off.clamp(max=-MIN_PROB)))
    return -(labels * log_on + (1 - labels) * log_off).sum(dim=-1)


def draws_nll(log_rates: Float[Tensor, "B K"], labels: Float[Tensor, "B K"], max_active: int) -> Float[Tensor, " B"]:
    """Return −log P(z = y) of z = Σ_l ω_l z_l, the paper's z ≡ y: every label is hit once, the other draws hit none.

    n = Σ y of L₀ draws, in any order: P = L₀! / (L₀ − n)! · Π_k a_k^{y_k} · (1 − Σ_k a_k)^{L₀ − n}. A row with more
    labels than L₀ is impossible; its surplus costs no factorial and no closed draw, so that training can go on.
    """
    num_on = labels.sum(dim=-1)
    num_left = (max_active - num_on).clamp(min=0)
    log_missed = torch.log1p(-log_rates.exp().sum(dim=-1).clamp(max=MAX_RATE))
    orders = torch.lgamma(torch.tensor(max_active + 1.0)) - torch.lgamma(num_left + 1)
    return -(orders + (labels * log_rates).sum(dim=-1) + num_left * log_missed)


def relaxed_nll(codes: Float[Tensor, "B K"], labels: Float[Tensor, "B K"]) -> Float[Tensor, " B"]:
    """Return the cross-entropy of labels and relaxed draws z = Σ_l ω_l z_l, cut to probabilities at 1."""
    probs = codes.clamp(MIN_PROB, 1 - MIN_PROB)
    return functional.binary_cross_entropy(probs, labels, reduction="none").sum(dim=-1)


def relaxed_probs(
    encoded: Float[Tensor, "B W"], num_labels: int, max_active: int, temperature: float
) -> Float[Tensor, "B K"]:
    """Return what relaxed draws are without their noise, L₀·σ(gate/τ)·softmax(logits/τ), cut at 1."""
    features = (encoded[:, :-1] / temperature).softmax(dim=-1)[:, :num_labels]
    return (max_active * (encoded[:, -1:] / temperature).sigmoid() * features).clamp(max=1.0)


LIKELIHOODS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {"marginals": marginal_nll, "draws": draws_nll}
RELAXED = "relaxed"


def _log_off(log_rates: Tensor, max_active: int) -> Tensor:
    return max_active * torch.log1p(-log_rates.exp().clamp(max=MAX_RATE))
