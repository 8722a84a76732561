"""Weights as matrices and back: equation 2.3 (spatial), equation 2.4 (channel), and plain matrices.

A weight becomes (G, rows, cols): one matrix per group, output side × input side. A factorisation A ≈ P Vᵀ of it, with P
(G, rows, r) and Vᵀ (G, r, cols), is two layers: Vᵀ is applied first, P second.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from gossamer.core.checks import check_choice

SCHEMES = ("spatial", "channel")


def dense_to_matrix(weight: Float[Tensor, "f c"]) -> Float[Tensor, "1 f c"]:
    """Return the weight of a linear layer, or an embedding table, as a batch of one matrix."""
    return weight.unsqueeze(0)


def dense_from_matrix(matrix: Float[Tensor, "1 f c"]) -> Float[Tensor, "f c"]:
    """Undo `dense_to_matrix`."""
    return matrix.squeeze(0)


def convolution_to_matrix(
    weight: Float[Tensor, "f c *kernel"], groups: int = 1, scheme: str = "channel"
) -> Float[Tensor, "G rows cols"]:
    """Return a convolution's kernel as one matrix per group.

    "channel" (equation 2.4): rows are output channels, columns (channel, kernel place). "spatial" (equation 2.3), for
    kernels m × n: rows are (output channel, n), columns (input channel, m).

    >>> import torch
    >>> convolution_to_matrix(torch.zeros(6, 4, 3, 5), scheme="spatial").shape
    torch.Size([1, 30, 12])
    """
    check_choice("scheme", scheme, SCHEMES)
    grouped = weight.reshape(groups, -1, *weight.shape[1:])
    if scheme == "channel":
        return grouped.flatten(2)
    if weight.ndim != 4:
        raise ValueError(f"weight must have two kernel axes for the spatial scheme, got shape {tuple(weight.shape)}")
    num_groups, num_out, num_in, height, width = grouped.shape
    return grouped.permute(0, 1, 4, 2, 3).reshape(num_groups, num_out * width, num_in * height)


def convolution_from_matrix(
    matrix: Float[Tensor, "G rows cols"], shape: tuple[int, ...], scheme: str = "channel"
) -> Float[Tensor, "f c *kernel"]:
    """Undo `convolution_to_matrix`; `shape` is that of the kernel."""
    if scheme == "channel":
        return matrix.reshape(shape)
    num_out, num_in, height, width = shape
    grouped = matrix.reshape(len(matrix), num_out // len(matrix), width, num_in, height)
    return grouped.permute(0, 1, 3, 4, 2).reshape(shape)


def convolution_factors(
    left: Float[Tensor, "G rows r"], right: Float[Tensor, "G r cols"], shape: tuple[int, ...], scheme: str = "channel"
) -> tuple[Float[Tensor, "out in *kernel"], Float[Tensor, "out in *kernel"]]:
    """Return the kernels of the two layers of table 2.1, the one that comes first in front.

    Channel: (G·r, c, *kernel) and (f, r, 1 …). Spatial: (G·r, c, m, 1) and (f, r, 1, n). Both layers have G groups.
    """
    num_groups, _, rank = left.shape
    num_out, num_in, *kernel = shape
    if scheme == "channel":
        first = right.reshape(num_groups * rank, num_in, *kernel)
        return first, left.reshape(num_out, rank, *[1] * len(kernel))
    height, width = kernel
    first = right.reshape(num_groups * rank, num_in, height, 1)
    second = left.reshape(num_groups, num_out // num_groups, width, rank).permute(0, 1, 3, 2)
    return first, second.reshape(num_out, rank, 1, width)
