"""The last step of a network that was trained on after its compression: batch norms become part of layers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import nn

from gossamer.models.lowrank.admission import check_pass, copy_of
from gossamer.models.lowrank.batches import inputs_alone
from gossamer.models.lowrank.folding import fold_and_count_
from gossamer.models.lowrank.report import CompressionReport


def fold_norms(network: nn.Module, *, example: Any) -> nn.Module:
    """Return a copy of `network` with batch norms made part of the layers before them: the same answers, sooner.

    For any network that will only answer; `example` are the inputs of one call. One that `compress` or `prune` returned
    with `fold="later"` has the times of its report from now on, and the report tells what was folded.

    >>> network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()).eval()
    >>> fold_norms(network, example=torch.randn(5, 3))
    Sequential(
      (0): Linear(in_features=3, out_features=4, bias=True)
      (1): Identity()
      (2): ReLU()
    )
    """
    if not isinstance(network, nn.Module):
        raise ValueError(f"network must be an nn.Module, got {type(network).__name__}")
    if torch.is_inference_mode_enabled():
        raise ValueError("folding makes new parameters, got torch.inference_mode(); call it outside of that")
    batch = inputs_alone(example)
    folded = copy_of(network)
    check_pass(copy_of(network), batch, "example")
    costs: dict[str, float] = {}
    names = fold_and_count_(folded, batch, costs)
    report = getattr(folded, "compression_report", None)
    if isinstance(report, CompressionReport):
        told = replace(report, after={**report.after, **costs}, folded=(*report.folded, *names))
        folded.compression_report = told  # type: ignore[assignment]
    return folded
