"""Scores of a tied output layer, hidden·(TA)ᵀ, in blocks of rows: memory beside the scores does not grow with V."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gossamer.models.embeddings.table import ROWS_AT_ONCE

DENSE_FACTOR = 8  # up to so many anchors per slot, where A learns; measured at batches of 8192, K = 15 … 500
OnGradient = Callable[[Tensor, Tensor], None]


def combine_anchors(
    slots: Int[Tensor, "B S"], values: Float[Tensor, "B S"], anchors: Float[Tensor, "K D"]
) -> Float[Tensor, "B D"]:
    """Return Σ_s values[i, s] · anchors[slots[i, s]] for every row i.

    Where rows use a good part of all anchors, T is made dense for the batch: a product of matrices is several times
    faster than scattering gradients into few rows of A. Without gradients that pays only where rows use them all.
    """
    learns = torch.is_grad_enabled() and anchors.requires_grad
    if len(anchors) <= (DENSE_FACTOR if learns else 1) * slots.shape[1]:
        transform = values.new_zeros(len(slots), len(anchors)).scatter_add(1, slots.to(torch.int64), values)
        return transform @ anchors
    return functional.embedding_bag(slots.to(torch.int32), anchors, per_sample_weights=values, mode="sum")


class TiedLogits(torch.autograd.Function):
    """hidden (B, D) → hidden·Eᵀ (B, V) with E = TA made for one block of rows at a time, in both directions.

    The gradient of T is wanted at its slots only: ∂/∂values[v, s] = ⟨Gᵀ_v hidden, anchors[slots[v, s]]⟩, so the V × K
    outer product of eq (34) is not formed; where K ≤ 8 S, one block of it at a time is, because that is faster
    (`combine_anchors`). `on_gradient(ids, ∂/∂E of these rows)` sees each block in passing.
    """

    @staticmethod
    def forward(
        context: Any, hidden: Tensor, slots: Tensor, values: Tensor, anchors: Tensor, on_gradient: OnGradient | None
    ) -> Tensor:
        """Multiply block by block."""
        context.save_for_backward(hidden, slots, values, anchors)
        context.on_gradient = on_gradient
        logits = hidden.new_empty(len(hidden), len(slots))
        for block in _blocks(len(slots)):
            torch.mm(hidden, combine_anchors(slots[block], values[block], anchors).T, out=logits[:, block])
        return logits

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of hidden, values (dense over slots) and anchors."""
        hidden, slots, values, anchors = context.saved_tensors
        for_hidden = torch.zeros_like(hidden)
        for_values = torch.zeros_like(values)
        for_anchors = torch.zeros_like(anchors)
        for block in _blocks(len(slots)):
            with torch.enable_grad():
                leaves = [values[block].detach().requires_grad_(), anchors.detach().requires_grad_()]
                rows = combine_anchors(slots[block], *leaves)
            for_hidden.addmm_(gradient[:, block], rows.detach())
            for_rows = gradient[:, block].T @ hidden
            for_block, for_all = torch.autograd.grad(rows, leaves, for_rows)
            for_values[block] = for_block
            for_anchors += for_all
            if context.on_gradient is not None:
                context.on_gradient(torch.arange(block.start, block.stop, device=hidden.device), for_rows)
        return for_hidden, None, for_values, for_anchors, None


def _blocks(num_rows: int) -> list[slice]:
    return [slice(start, min(start + ROWS_AT_ONCE, num_rows)) for start in range(0, num_rows, ROWS_AT_ONCE)]
