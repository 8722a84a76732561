"""Simultaneous perturbation: the gradient of any layer from values of it alone (equations 4.13 to 4.16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.core.checks import check_int, check_real

Layer = Callable[[Tensor], Tensor]


def spsa(
    layer: Layer, inputs: Float[Tensor, "B M"], *, perturbations: int, c: float, generator: torch.Generator
) -> Float[Tensor, "B L"]:
    """Return `layer(inputs)` with a gradient by simultaneous perturbation.

    Rows are perturbed each by itself: the layer must treat them so. The gradient is vᵀĴ, the mean over `perturbations`
    draws of Δ = ±1, with Ĵ_ij = (f_i(x + cΔ) - f_i(x - cΔ)) / (2 c Δ_j) (4.16). E Ĵ - J = O(c²) (theorem 1), and
    what is random in it falls with the root of the number of draws.

    >>> x = torch.tensor([[3.0]], requires_grad=True)
    >>> y = spsa(torch.square, x, perturbations=1, c=0.1, generator=torch.Generator())
    >>> y.backward()
    >>> y.item(), round(x.grad.item(), 4)  # one dimension, a parabola: exact
    (9.0, 6.0)
    """
    check_int("perturbations", perturbations, at_least=1)
    check_real("c", c, above=0)
    apply: Any = _Perturbed.apply
    found: Tensor = apply(inputs, layer, perturbations, c, generator)
    return found


def spsa_vector_product(
    layer: Layer,
    inputs: Float[Tensor, "B M"],
    vectors: Float[Tensor, "B L"],
    *,
    perturbations: int,
    c: float,
    generator: torch.Generator,
) -> Float[Tensor, "B M"]:
    """Return vᵀĴ of every row, the mean over several draws of Δ."""
    total = torch.zeros_like(inputs)
    with torch.no_grad():
        for _ in range(perturbations):
            signs = torch.randint(0, 2, inputs.shape, generator=generator).to(inputs) * 2 - 1
            difference = layer(inputs + c * signs) - layer(inputs - c * signs)
            along = (vectors * difference).sum(1, keepdim=True) / (2 * c)
            total += along * signs  # 1/Δ is Δ
    return total / perturbations


class _Perturbed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, layer: Layer, perturbations: int, c: float, generator: Any) -> Tensor:
        ctx.save_for_backward(inputs)
        ctx.layer, ctx.drawing = layer, {"perturbations": perturbations, "c": c, "generator": generator}
        with torch.no_grad():
            return layer(inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (inputs,) = ctx.saved_tensors
        return spsa_vector_product(ctx.layer, inputs, gradients[0], **ctx.drawing), None, None, None, None
