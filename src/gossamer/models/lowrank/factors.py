"""Singular triplets of a weight, plain or fitted to what the layer really sees, with masks on them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

RIDGE = 1e-4  # of the mean variance: directions the data never show must not be free, other data may show them


@dataclass(frozen=True)
class Factors:
    """A = P · Vᵀ exactly, over all R triplets, most important first; `values` (G, R) are their singular values.

    Squares of values are `is_comparable` between layers where all are errors of the network's output.

    >>> factors = factorise(torch.eye(3).unsqueeze(0))
    >>> factors.rank, torch.allclose(factors.product(torch.ones(3)), torch.eye(3))
    (3, True)
    """

    left: Float[Tensor, "G rows R"]
    right: Float[Tensor, "G R cols"]
    values: Float[Tensor, "G R"]
    is_comparable: bool = False

    @property
    def rank(self) -> int:
        """The number of triplets."""
        return self.values.shape[1]

    def energies(self) -> Float[Tensor, " R"]:
        """Return what each triplet carries: σ², summed over groups."""
        return self.values.square().sum(dim=0)

    def product(self, masks: Float[Tensor, " R"]) -> Float[Tensor, "G rows cols"]:
        """Return Σ_j m_j P_j V_jᵀ (equations 2.3 and 2.4)."""
        return (self.left * masks.to(self.left)) @ self.right

    def mask_gradient(self, gradient: Float[Tensor, "G rows cols"]) -> Float[Tensor, " R"]:
        """Return ∂L/∂m_j = Σ_G P_jᵀ (∂L/∂A) V_j from the gradient of the loss for the matrix."""
        return torch.einsum("gir,gir->r", self.left, gradient.to(self.left) @ self.right.mT)

    def select(self, chosen: Tensor, masks: Float[Tensor, " R"]) -> Factors:
        """Keep the `chosen` triplets, with their masks folded into P (the second step of section 2.3)."""
        kept = masks[chosen].to(self.left)
        return Factors(self.left[:, :, chosen] * kept, self.right[:, chosen], self.values[:, chosen] * kept)


@torch.no_grad()
def factorise(
    matrix: Float[Tensor, "G rows cols"],
    *,
    covariance: Float[Tensor, "G cols cols"] | None = None,
    row_covariance: Float[Tensor, "k k"] | None = None,
    row_weights: Float[Tensor, " rows"] | None = None,
    output_metric: Float[Tensor, "G f f"] | None = None,
) -> Factors:
    """Return the singular triplets of A, in the metric of the layer's inputs where it is given.

    With `covariance` C = E[x xᵀ] of the inputs, keeping the first r triplets minimises E‖Ax − Âx‖² over all Â of rank
    r: they come from the SVD of A C^½, V is taken back by C^−½. `row_covariance` is a metric of the rows' last k places
    (the taps of a spatial kernel's second half) and `row_weights` one weight per row (how often a word occurs).
    `output_metric` M says what an error of the layer's f outputs does to the network's: E[eᵀMe] is minimised instead,
    by the SVD of M^½ A C^½, and energies are then in units of the network's output, alike for all layers.
    """
    original = matrix.detach().to(torch.float64)
    scaled = original
    if covariance is not None:
        root, inverse_root = _roots(covariance.to(torch.float64))
        scaled = scaled @ root
    if row_covariance is not None:
        row_root, row_inverse = _roots(row_covariance.to(torch.float64))
        scaled = _apply_to_taps(row_root, scaled)
    if output_metric is not None:
        output_root, output_inverse = _roots(output_metric.to(torch.float64))
        scaled = _apply_to_outputs(output_root, scaled)
    if row_weights is not None:
        scales = _safe_scales(row_weights.to(torch.float64))
        scaled = scales[:, None] * scaled
    left, values, right = torch.linalg.svd(scaled, full_matrices=False)
    left = left * values.unsqueeze(1)
    if row_weights is not None:
        left = left / scales[:, None]
    if output_metric is not None:
        left = _apply_to_outputs(output_inverse, left)
    if row_covariance is not None:
        left = _apply_to_taps(row_inverse, left)
    if covariance is not None:
        right = right @ inverse_root
    is_comparable = output_metric is not None
    return Factors(left.to(matrix.dtype), right.to(matrix.dtype), values.to(matrix.dtype), is_comparable)


def _roots(covariance: Float[Tensor, "*G d d"]) -> tuple[Tensor, Tensor]:
    """Return C^½ and C^−½ of a covariance, made definite by a small ridge."""
    variances, axes = torch.linalg.eigh((covariance + covariance.mT) / 2)
    mean = variances.mean(dim=-1, keepdim=True)
    mean = torch.where(mean > 0, mean, 1.0)  # inputs that are always zero say nothing: any metric will do
    roots = (variances.clamp_min(0) + RIDGE * mean).sqrt()
    return (axes * roots.unsqueeze(-2)) @ axes.mT, (axes / roots.unsqueeze(-2)) @ axes.mT


def _apply_to_taps(root: Float[Tensor, "k k"], matrix: Float[Tensor, "G rows cols"]) -> Float[Tensor, "G rows cols"]:
    """Multiply the last k places of the rows' index with a symmetric root."""
    split = matrix.reshape(len(matrix), -1, len(root), matrix.shape[2])
    return torch.einsum("kl,golc->gokc", root, split).flatten(1, 2)


def _apply_to_outputs(
    root: Float[Tensor, "G f f"], matrix: Float[Tensor, "G rows cols"]
) -> Float[Tensor, "G rows cols"]:
    """Multiply the first places of the rows' index, the outputs, with a symmetric root; taps come after them."""
    split = matrix.reshape(len(matrix), root.shape[1], -1, matrix.shape[2])
    return torch.einsum("gfo,gokc->gfkc", root, split).flatten(1, 2)


def _safe_scales(weights: Float[Tensor, " rows"]) -> Float[Tensor, " rows"]:
    """Return square roots of weights, none of them zero: a word that was not seen still needs a vector."""
    mean = weights.mean()
    return (weights + 0.1 * torch.where(mean > 0, mean, 1.0)).sqrt()
