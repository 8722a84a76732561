"""The two factors of each triplet given equal length, so that the network can be trained on from where it is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gossamer.models.lowrank.module import LowRankConvolution, LowRankEmbedding, LowRankLinear


@torch.no_grad()
def balance_(network: nn.Module) -> None:
    """Scale the factors p and v of each triplet p vᵀ of a compressed network in place, so that ‖p‖ = ‖v‖.

    The product, and so what the network answers, stays. The SVD leaves one factor with all of the singular value, and
    metrics of inputs and outputs, masks and least squares pull the two further apart, by a factor of a thousand for
    some. The gradient of a factor grows with the other one, so that one learning rate would be too long for the first
    and too short for the second; of all scales the balanced one has the smallest factors (Srebro, Rennie and Jaakkola,
    *Maximum-margin matrix factorization*, 2004).

    >>> layer = LowRankLinear(2, 2, rank=1, bias=False)
    >>> with torch.no_grad():
    ...     _ = layer[0].weight.copy_(torch.tensor([[0.0, 8.0]])), layer[1].weight.copy_(torch.tensor([[2.0], [0.0]]))
    >>> balance_(layer)
    >>> layer[0].weight.tolist(), layer[1].weight.tolist(), layer(torch.ones(2)).tolist()
    ([[0.0, 4.0]], [[4.0], [0.0]], [16.0, 0.0])
    """
    found = (_factors_of(module) for module in network.modules())
    for first, second, groups in {id(factors[1]): factors for factors in found if factors}.values():  # shared ones once
        _balance_pair_(first, second, groups)


def _factors_of(module: nn.Module) -> tuple[Tensor, Tensor, int] | None:
    """Return the weight whose rows are triplets, that whose columns are, and in how many groups."""
    if isinstance(module, LowRankLinear | LowRankConvolution):
        first: Any = module[0]
        second: Any = module[1]
        if any(isinstance(part, LowRankLinear | LowRankConvolution) for part in (first, second)):
            return None  # split again: a product of three, whose parts are balanced on their own
        return first.weight, second.weight, getattr(second, "groups", 1)
    if isinstance(module, LowRankEmbedding):
        return module.codes.weight.mT, module.expand.weight, 1
    return None


def _balance_pair_(first: Tensor, second: Tensor, groups: int) -> None:
    rank = second.shape[1]
    rows = first.double().reshape(groups, rank, -1)
    columns = second.double().reshape(groups, len(second) // groups, rank, -1)
    lengths, others = rows.norm(dim=2), columns.norm(dim=(1, 3))
    is_open = (lengths > 0) & (others > 0)  # a triplet that says nothing has no length to share
    scales = torch.where(is_open, others / lengths, 1.0).sqrt()
    first.copy_((rows * scales[:, :, None]).reshape(first.shape))
    second.copy_((columns / scales[:, None, :, None]).reshape(second.shape))
