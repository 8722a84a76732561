"""Softmax over a large vocabulary from a sample of it, through row look-ups only (appendix G): no V × K, no V × D."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_choice, check_int, check_real

PROPOSALS = ("unigram", "log-uniform")


class NegativeSampler(nn.Module):
    """Draws the words that stand for the whole vocabulary in one batch: word v independently with probability π_v.

    π_v = min(1, c · q_v), with c such that `num_samples` words are expected: the most likely words are always there,
    the others sometimes. A sum over the vocabulary is estimated without bias by Σ_{v drawn} f(v)/π_v (Horvitz and
    Thompson 1952), and exactly where `num_samples` is V. "unigram" takes q_v ∝ counts_v^power, "log-uniform"
    q_v ∝ log((v + 2)/(v + 1)) for words numbered by falling frequency.
    """

    log_inclusion: Tensor

    def __init__(
        self,
        counts: Float[np.ndarray, " V"] | Int[np.ndarray, " V"],
        num_samples: int,
        *,
        proposal: str = "unigram",
        power: float = 0.75,
    ) -> None:
        super().__init__()
        check_int("num_samples", num_samples, at_least=1)
        check_real("power", power, at_least=0)
        check_choice("proposal", proposal, PROPOSALS)
        # A word that never occurred must be drawn sometimes too, or nothing would keep its score down.
        weights = np.maximum(np.asarray(counts, dtype=np.float64), 1.0) ** power
        if proposal == "log-uniform":
            weights = np.diff(np.log(np.arange(1, len(weights) + 2)))
        inclusion = inclusion_probs(weights, num_samples)
        self.register_buffer("log_inclusion", torch.from_numpy(np.log(inclusion)).float())

    def draw(self, generator: torch.Generator | None = None) -> Int[Tensor, " M"]:
        """Return the words drawn, in rising order; one at least."""
        uniform = torch.rand(len(self.log_inclusion), generator=generator, device=self.log_inclusion.device)
        drawn = torch.nonzero(uniform.log() < self.log_inclusion).squeeze(1)
        return drawn if len(drawn) else self.log_inclusion.argmax().unsqueeze(0)


def inclusion_probs(weights: Float[np.ndarray, " V"], num_samples: int) -> Float[np.ndarray, " V"]:
    """Return π_v = min(1, c · weights_v) with Σ π_v = min(num_samples, V).

    >>> inclusion_probs(np.array([6.0, 2.0, 1.0, 1.0]), 2).tolist()
    [1.0, 0.5, 0.25, 0.25]
    """
    order = np.argsort(-weights, kind="stable")
    falling = weights[order]
    remaining = np.cumsum(falling[::-1])[::-1]
    # With the n heaviest words at 1, the rest share num_samples − n; n is right once the next one needs no more than 1.
    certain = np.arange(len(weights))
    scale = (num_samples - certain) / remaining
    fits = (scale * falling <= 1) & (scale >= 0)
    num_certain = int(np.argmax(fits)) if fits.any() else len(weights)
    probs = np.ones(len(weights))
    if num_certain < len(weights):
        probs[order[num_certain:]] = scale[num_certain] * falling[num_certain:]
    return probs


def sampled_softmax_loss(
    embedding: Callable[[Tensor], Tensor],
    hidden: Float[Tensor, "N D"],
    targets: Int[Tensor, " N"],
    negatives: Int[Tensor, " M"],
    log_inclusion: Float[Tensor, " V"],
    bias: Float[Tensor, " V"] | None = None,
) -> Float[Tensor, ""]:
    """Return the mean of log Ẑ − s_y with s = hidden · Eᵀ + b and Ẑ = e^{s_y} + Σ_{v drawn, v ≠ y} e^{s_v}/π_v.

    Ẑ is an unbiased estimate of the softmax's normaliser; with all words drawn (π = 1) the loss is the softmax's own
    cross-entropy. The negatives are shared by the batch; the vectors of targets and negatives are looked up once.
    """
    words, places = torch.unique(torch.cat([targets, negatives]), return_inverse=True)
    vectors = embedding(words)
    target_places, negative_places = places[: len(targets)], places[len(targets) :]
    scores = functional.linear(hidden, vectors[negative_places]) - log_inclusion[negatives]
    target_scores = (hidden * vectors[target_places]).sum(dim=1)
    if bias is not None:
        scores = scores + bias[negatives]
        target_scores = target_scores + bias[targets]
    # Finite, because the gradient of logsumexp over nothing but -inf is NaN.
    scores = scores.masked_fill(negative_places == target_places.unsqueeze(1), -1e30)
    normaliser = torch.logaddexp(scores.logsumexp(dim=1), target_scores)
    loss: Tensor = (normaliser - target_scores).mean()
    return loss
