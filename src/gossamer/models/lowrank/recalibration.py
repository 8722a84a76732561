"""Batch norms learn anew what goes through them: after a split their old statistics are those of another network."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from gossamer.models.lowrank.batches import Batch
from gossamer.models.lowrank.counting import batch_norms, evaluating


@torch.no_grad()
def recalibrate_(model: nn.Module, batches: Iterable[Batch]) -> int:
    """Replace the running statistics of every batch norm by means over `batches`; return how many there are.

    Use batches with the training augmentation: plain images lower even an uncompressed network's accuracy.
    """
    norms = batch_norms(model)
    if not norms:
        return 0
    momenta = [norm.momentum for norm in norms]
    uncounted = [norm for norm in norms if norm.num_batches_tracked is None]
    for norm in uncounted:
        norm.num_batches_tracked = torch.tensor(0)  # a plain mean has to count
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain mean over all batches
    try:
        with evaluating(model, batch_statistics=True):
            for batch in batches:
                model(*batch[0])
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        for norm in uncounted:
            norm.num_batches_tracked = None
    for norm in norms:
        if not all(torch.isfinite(value).all() for value in norm.buffers()):
            raise FloatingPointError("inputs of batch norms must be finite, got NaN or infinity; check the data")
    return len(norms)
