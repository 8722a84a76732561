"""Another library's compression of a trained network, behind the estimator whose budgets and costs are ours."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from gossamer.core.checks import check_choice
from gossamer.models.lowrank.answers import Guide
from gossamer.models.lowrank.batches import Batch, BatchSource, num_rows
from gossamer.models.lowrank.budget import Budget, check_met, per_example
from gossamer.models.lowrank.classifier import CompressedClassifier
from gossamer.models.lowrank.counting import count_costs, evaluating
from gossamer.models.lowrank.pruning import PRUNE
from gossamer.models.lowrank.recalibration import recalibrate_
from gossamer.models.lowrank.report import CompressionReport
from gossamer.models.lowrank.timing import time_models
from gossamer.runner.requiring import require

IMPORTANCES = {"magnitude": "GroupMagnitudeImportance", "taylor": "GroupTaylorImportance"}
BISECTIONS = 10


class TorchPruning(CompressedClassifier):
    """torch-pruning's `BasePruner` over all layers at once, with batch norms recalibrated as ours are.

    It knows a share of channels and no budget, so the share is bisected: the largest network within all limits.
    "taylor" weighs channels by weight times gradient of the loss on the calibration batches, "magnitude" by weights.
    """

    library = "torch-pruning"

    def __init__(
        self,
        *,
        network: str = "resnet20",
        weights: str | None = None,
        macs: float | None = None,
        params: float | None = None,
        importance: str = "taylor",
        calibration_batches: int = 8,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            network=network,
            weights=weights,
            macs=macs,
            params=params,
            scheme=PRUNE,
            guide="loss",
            calibration_batches=calibration_batches,
            random_state=random_state,
        )
        self.importance = importance

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_choice("importance", self.importance, tuple(IMPORTANCES))

    def _compressor(self) -> Callable[..., nn.Module]:
        return partial(prune_to_budget, importance=self.importance)


def prune_to_budget(
    model: nn.Module,
    *,
    data: Iterable[Any],
    budget: Budget,
    loss: Guide,
    importance: str,
    calibration_batches: int,
    **ours: Any,
) -> nn.Module:
    """Return the least pruned copy of `model` that meets `budget`; arguments of our own search are not for it."""
    del ours
    began = time.perf_counter()
    source = BatchSource(data, needs_targets=True)
    example, batches = source[0], source.first(calibration_batches)
    rows, original = num_rows(example), count_costs(model, example)
    limits = budget.limits(original, rows=rows)
    small, after = _largest_within(limits, lambda share: _pruned(model, batches, loss, importance, share), example)
    check_met(after, limits)
    recalibrate_(small, batches)
    before = dict(original)
    before["milliseconds"], after["milliseconds"] = time_models([model, small], example)
    report = CompressionReport(
        layers=(),
        before=per_example(before, rows),
        after=per_example(after, rows),
        limits=per_example(limits, rows),
        allocator=importance,
        scheme=PRUNE,
        fitted=False,
        recalibrated=True,
        seconds=time.perf_counter() - began,
        iterations=(),
    )
    small.compression_report = report  # type: ignore[assignment]
    return small


def _largest_within(
    limits: dict[str, float], prune: Callable[[float], nn.Module], example: Batch
) -> tuple[nn.Module, dict[str, float]]:
    """Bisect the share of channels that is cut; costs fall as it grows."""
    low, high = 0.0, 1.0
    best: tuple[nn.Module, dict[str, float]] | None = None
    for _ in range(BISECTIONS):
        share = (low + high) / 2
        small = prune(share)
        costs = count_costs(small, example)
        if all(costs[name] <= limit for name, limit in limits.items()):
            best, high = (small, costs), share
        else:
            low = share
    if best is None:
        raise ValueError(f"budget must be within reach of torch-pruning, got limits {limits}")
    return best


def _pruned(model: nn.Module, batches: Sequence[Batch], loss: Guide, importance: str, share: float) -> nn.Module:
    pruning = require("torch_pruning")
    small = copy.deepcopy(model)
    small.requires_grad_(True)
    with evaluating(small), torch.enable_grad():
        for inputs, target in batches:
            loss(small(*inputs), target).backward()  # type: ignore[no-untyped-call]
    pruner = pruning.pruner.BasePruner(
        small,
        batches[0][0],
        importance=getattr(pruning.importance, IMPORTANCES[importance])(),
        global_pruning=True,
        pruning_ratio=share,
        ignored_layers=_untouchable(small),
    )
    pruner.step()
    small.zero_grad(set_to_none=True)
    return small


def _untouchable(model: nn.Module) -> list[nn.Module]:
    """Return layers whose outputs cannot shrink: the classes, and what shortcuts without parameters add up.

    torch-pruning does not follow channels through a shortcut that pads them, so of a residual block the inner channels
    are left, those that our `prune` cuts, too.
    """
    layers = [(name, part) for name, part in model.named_modules() if isinstance(part, nn.Conv2d | nn.Linear)]
    inner = [name for name, _ in layers if name.endswith(".conv1")]  # of blocks: the first of their two convolutions
    return [part for name, part in layers if name not in inner] if inner else [layers[-1][1]]
