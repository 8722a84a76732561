"""Σ_l ω_l · softmax((log π + noise_l) / τ), equation (12), with its gradient written out.

As a graph, forward and backward pass a dozen times over the B × L₀ × K numbers of the relaxed draws. Written out, the
backward pass is two batched products with them.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def gated_relaxed_sum(
    logits: Float[Tensor, "B K"],
    gates: Float[Tensor, "B L"],
    temperature: Float[Tensor, ""],
    noise: Float[Tensor, "B L K"],
) -> Float[Tensor, "B K"]:
    """Return the relaxed code of each row, differentiable in logits, gates and temperature; `noise` is overwritten."""
    result: Tensor = _GatedSum.apply(logits, gates, temperature, noise)  # type: ignore[no-untyped-call]
    return result


class _GatedSum(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, logits: Tensor, gates: Tensor, temperature: Tensor, noise: Tensor) -> Tensor:
        scaled = noise.add_(logits.unsqueeze(1)).div_(temperature)
        draws = scaled.softmax(dim=-1)
        code = torch.bmm(gates.unsqueeze(1), draws).squeeze(1)
        needs_scaled = context.needs_input_grad[2]
        context.save_for_backward(gates, temperature, draws, code, scaled if needs_scaled else None)
        return code

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        gates, temperature, draws, code, scaled = context.saved_tensors
        of_gates = torch.bmm(draws, gradient.unsqueeze(2)).squeeze(2)  # s_l · v
        pulled = torch.bmm((gates * of_gates).unsqueeze(1), draws).squeeze(1)
        of_logits = (gradient * code - pulled) / temperature
        of_temperature = None
        if scaled is not None:
            weighted = draws * scaled
            slope = torch.bmm(weighted, gradient.unsqueeze(2)).squeeze(2) - of_gates * weighted.sum(dim=2)
            of_temperature = (-(gates * slope).sum() / temperature).reshape(temperature.shape)
        return of_logits, of_gates, of_temperature, None
