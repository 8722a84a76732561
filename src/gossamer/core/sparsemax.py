"""Sparsemax: the point of the simplex nearest to a vector of scores, its Jacobian, and the loss that belongs to it.

Martins and Astudillo, From Softmax to Sparsemax, ICML 2016. Unlike softmax, most outputs are exactly zero.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def sparsemax(scores: Float[Tensor, "... K"]) -> Float[Tensor, "... K"]:
    """Return argmin over the simplex of ‖p − scores‖², row by row: [scores − threshold]₊ (their algorithm 1).

    >>> sparsemax(torch.tensor([[1.5, 1.0, -1.0]])).tolist()
    [[0.75, 0.25, 0.0]]
    """
    probs: Tensor = _Sparsemax.apply(scores)  # type: ignore[no-untyped-call]
    return probs


def sparsemax_threshold(scores: Float[Tensor, "... K"]) -> Float[Tensor, "... 1"]:
    """Return the τ(scores) with Σ_k [scores_k − τ]₊ = 1, exactly, by sorting.

    The support are the k largest scores for the largest k with 1 + k·score_(k) > Σ_{j ≤ k} score_(j).
    """
    ordered, _ = scores.sort(dim=-1, descending=True)
    excess = ordered.cumsum(dim=-1) - 1
    ranks = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)
    num_on = (ranks * ordered > excess).sum(dim=-1, keepdim=True).clamp(min=1)  # 0 only where a score is NaN
    return excess.gather(-1, num_on - 1) / num_on.to(scores.dtype)


def sparsemax_loss(scores: Float[Tensor, "B K"], target: Float[Tensor, "B K"]) -> Float[Tensor, " B"]:
    """Return L(z; q) = −q·z + ½ Σ_{k on} (z_k² − τ²) + ½ ‖q‖² per row (their equation 28); its gradient is p − q.

    `target` q is a distribution, of several labels the uniform one over them: see `uniform_target`. The loss is zero
    where sparsemax(scores) = q, and never negative.
    """
    with torch.no_grad():
        probs = sparsemax(scores)
    # By the envelope theorem, the conjugate max over p of p·z − ½‖p‖² has p as its gradient, so p may be held fixed.
    conjugate = (probs * scores).sum(dim=-1) - 0.5 * probs.square().sum(dim=-1)
    return conjugate - (target * scores).sum(dim=-1) + 0.5 * target.square().sum(dim=-1)


def uniform_target(labels: Float[Tensor, "B K"]) -> Float[Tensor, "B K"]:
    """Return the uniform distribution over each row's labels; a row without labels must not be there.

    >>> uniform_target(torch.tensor([[1.0, 0.0, 1.0]])).tolist()
    [[0.5, 0.0, 0.5]]
    """
    num_labels = labels.sum(dim=-1, keepdim=True)
    if bool((num_labels == 0).any()):
        row = int(torch.argmax((num_labels.squeeze(-1) == 0).int()))
        raise ValueError(f"labels must have at least one label in every row, got none in row {row}")
    return labels / num_labels


class _Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, scores: Tensor) -> Tensor:
        # Sums of large scores would lose what is small; the largest taken off changes nothing.
        if scores.shape[-1] == 0:
            raise ValueError("scores must have at least one column, got 0")
        shifted = scores - scores.amax(dim=-1, keepdim=True)
        probs = (shifted - sparsemax_threshold(shifted)).clamp(min=0)
        context.save_for_backward(probs)
        return probs

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        """Multiply with the Jacobian diag(s) − s sᵀ / |s|, s the support: centre the gradient over the support."""
        (probs,) = context.saved_tensors
        support = (probs > 0).to(gradient.dtype)
        mean = (gradient * support).sum(dim=-1, keepdim=True) / support.sum(dim=-1, keepdim=True)
        centred: Tensor = support * (gradient - mean)
        return centred
