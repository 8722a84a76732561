"""Channel pruning by masking variables under the same budgets: the dissertation's future work (section 2.8)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from gossamer.core.checks import check_choice
from gossamer.models.lowrank.admission import check_arguments, check_model, check_pass, copy_of, return_buffers_
from gossamer.models.lowrank.answers import AnsweredBatches, Guide, choose_guide
from gossamer.models.lowrank.attempts import COBLA, RULES
from gossamer.models.lowrank.batches import Batch, BatchSource, counted_batch, num_rows
from gossamer.models.lowrank.budget import Budget, check_met, per_example
from gossamer.models.lowrank.channels import ChannelGroup, ChannelMasks, cut_channels_, find_groups
from gossamer.models.lowrank.counting import (
    batch_norms,
    check_replaced,
    count_costs,
    evaluating,
    observe_uses,
)
from gossamer.models.lowrank.folding import fold_and_count_
from gossamer.models.lowrank.observing import Call, WatchWeights
from gossamer.models.lowrank.problem import WHOLE, LayerChoices, Problem
from gossamer.models.lowrank.recalibration import recalibrate_
from gossamer.models.lowrank.report import CompressionReport, LayerChange
from gossamer.models.lowrank.search import (
    Allocation,
    MaskedNetwork,
    SearchSettings,
    allocate_cobla,
    first_triplets,
)
from gossamer.models.lowrank.sites import find_sites
from gossamer.models.lowrank.timing import time_models

PRUNE = "prune"  # the scheme's name
PRUNING_ALLOCATORS = (COBLA, "pos_cvx", "pos_greedy", "cptv", "uniform")  # the others look at singular values


def prune(
    model: nn.Module,
    *,
    data: Iterable[Any],
    budget: Budget,
    loss: Guide | None = None,
    allocator: str = COBLA,
    fitted: bool = True,
    recalibrate: bool = True,
    keep: Collection[str] = (),
    only: Collection[str] | None = None,
    calibration_batches: int = 8,
    search: SearchSettings | None = None,
    example: Any = None,
    fold: bool = False,
) -> nn.Module:
    """Return a copy of `model` with fewer channels between convolutions, within every limit of `budget`.

    Channels are cut between two convolutions that nothing else sees, with a batch norm or channel-wise functions in
    between: the inner channels of residual blocks, not those that shortcuts share. A channel's importance is the energy
    that it brings to the second convolution, ‖w_c‖² times the mean square of its input where `fitted`. The allocator
    "cobla" masks channels and searches as `compress` does; the others take the most important ones. Other arguments
    as in `compress`; there are no milliseconds to promise.
    """
    began = time.perf_counter()
    check_arguments(model, budget, loss, allocator, fitted, recalibrate, fold, calibration_batches, search, keep, only)
    check_choice("allocator", allocator, PRUNING_ALLOCATORS)
    if budget.milliseconds is not None:
        raise ValueError(
            f"budget milliseconds must be left out for pruning, got {budget.milliseconds!r}; limit macs instead"
        )
    source = BatchSource(data, needs_targets=allocator == COBLA and loss is not None)
    counted = counted_batch(source, example)
    whole_model, work = _two_copies(model, counted)
    groups = _open_groups(work, counted, keep, only)
    original, rows = count_costs(work, counted), num_rows(counted)
    costs = _channel_costs(work, groups, counted)
    pairs = list(zip(groups, costs, strict=True))
    whole = {name: float(sum(group.num_channels * cost[name] for group, cost in pairs)) for name in original}
    limits = budget.limits(original, whole, rows)
    energies = _importance(work, groups, source.first(calibration_batches) if fitted else [])
    problem = _problem(groups, energies, costs, original, whole, limits, rows)
    has_norms = recalibrate and bool(batch_norms(work))
    guide = choose_guide(loss, source, whole_model)
    allocation = _allocate(allocator, problem, work, groups, guide, search, has_norms)
    is_recalibrated = has_norms and any(map(_is_cut, groups, allocation.kept, allocation.masks))
    after = _cut_(work, groups, allocation, counted)
    check_met(after, limits)
    if is_recalibrated:
        recalibrate_(work, source.first(calibration_batches))
    folded = fold_and_count_(work, counted, after) if fold else ()
    original["milliseconds"], after["milliseconds"] = time_models([whole_model, work], counted)
    return_buffers_(work, model, except_norms=is_recalibrated)
    report = CompressionReport(
        layers=tuple(_change(*pair, kept, rows) for pair, kept in zip(pairs, allocation.kept, strict=True)),
        before=per_example(original, rows),
        after=per_example(after, rows),
        limits=per_example(limits, rows),
        allocator=allocator,
        scheme=PRUNE,
        fitted=fitted,
        recalibrated=is_recalibrated,
        seconds=time.perf_counter() - began,
        iterations=tuple(allocation.iterations),
        folded=folded,
    )
    work.compression_report = report  # type: ignore[assignment]
    return work


def _two_copies(model: nn.Module, example: Batch) -> tuple[nn.Module, nn.Module]:
    """Return a copy that stays whole, whose answers are asked for, and one that is cut, both checked."""
    whole = copy_of(model)
    check_pass(whole, example)
    check_model(whole)
    return whole, copy_of(whole)


def _open_groups(
    model: nn.Module, example: Batch, keep: Collection[str], only: Collection[str] | None
) -> list[ChannelGroup]:
    groups = [group for group in find_groups(model, example, keep=keep, only=only) if group.stays is None]
    if not groups:
        raise ValueError(
            "model must have two convolutions with channels that nothing else sees to be pruned, got none in "
            f"{type(model).__name__}"
        )
    return groups


def _channel_costs(model: nn.Module, groups: Sequence[ChannelGroup], example: Batch) -> list[dict[str, int]]:
    """Return what one channel of each group costs; MACs are those of the whole example batch."""
    sites = find_sites(model, scheme="channel")
    observe_uses(model, sites, example)
    macs = {site.first: sum(use.whole_macs for use in site.uses) for site in sites}
    return [
        {
            "macs": (macs[group.first] + macs[group.second]) // group.num_channels,
            "params": group.channel_params(),
            "bytes": group.channel_bytes(),
        }
        for group in groups
    ]


@torch.no_grad()
def _importance(model: nn.Module, groups: Sequence[ChannelGroup], batches: Sequence[Batch]) -> list[np.ndarray]:
    """Return each channel's energy in falling order, and set the groups' orders."""
    weights = {id(group.weight): group for group in groups}
    squares = {group: torch.zeros(group.num_channels, dtype=torch.float64) for group in groups}

    def see(call: Call) -> None:
        images = call.inputs if call.inputs.dim() == 4 else call.inputs.unsqueeze(0)
        squares[weights[id(call.site.weight)]] += images.double().square().mean(dim=(0, 2, 3))

    watched = [site for site in find_sites(model, scheme="channel") if id(site.weight) in weights]
    with evaluating(model), WatchWeights(watched, see):
        for batch in batches:
            model(*batch[0])
    found = []
    for group in groups:
        energies = group.weight.double().square().sum(dim=(0, 2, 3))
        before = squares[group] if batches else group.first.weight.double().square().sum(dim=(1, 2, 3))
        energies = energies * before
        if not torch.isfinite(energies).all():
            raise FloatingPointError(
                f"inputs of {list(group.modules)[-1]} must be finite, got NaN or infinity; check the data"
            )
        group.order = np.argsort(-energies.numpy(), kind="stable")
        found.append(np.maximum(energies.numpy()[group.order], 1e-300))
    return found


def _problem(
    groups: Sequence[ChannelGroup],
    energies: Sequence[Float[np.ndarray, " C"]],
    costs: Sequence[Mapping[str, int]],
    original: Mapping[str, float],
    whole: Mapping[str, float],
    limits: Mapping[str, float],
    rows: int,
) -> Problem:
    names = tuple(limits)
    layers = []
    for group, energy, cost in zip(groups, energies, costs, strict=True):
        numbers = np.concatenate([[group.num_channels], np.arange(1, group.num_channels + 1)]).astype(np.float64)
        table = np.stack([cost[name] * numbers for name in names], axis=1)
        layers.append(LayerChoices(next(iter(group.modules)), energy, table, (group.num_channels, group.num_channels)))
    fixed = np.array([original[name] - whole[name] for name in names])
    problem = Problem(tuple(layers), fixed, np.array([limits[name] for name in names]), names, rows)
    problem.check_reachable()
    return problem


def _allocate(
    allocator: str,
    problem: Problem,
    model: nn.Module,
    groups: Sequence[ChannelGroup],
    guide: tuple[Guide, BatchSource | AnsweredBatches],
    search: SearchSettings | None,
    batch_statistics: bool,
) -> Allocation:
    if allocator != COBLA:
        return first_triplets(RULES[allocator](problem), problem)
    # All channels cost what the whole layer costs, so that unlike a low rank "whole" can be searched, too.
    start = [
        layer.rank if rank == WHOLE else rank
        for layer, rank in zip(problem.layers, RULES["pos_cvx"](problem), strict=True)
    ]
    masks = [ChannelMasks(group.weight, group.order) for group in groups]
    network = MaskedNetwork(model, groups, masks, *guide, batch_statistics=batch_statistics)
    return allocate_cobla(network, problem, start, search or SearchSettings())


def _cut_(model: nn.Module, groups: Sequence[ChannelGroup], allocation: Allocation, example: Batch) -> dict[str, float]:
    """Cut the network, and return what it costs."""
    cut = [group for group, kept in zip(groups, allocation.kept, strict=True) if kept is not None]
    replaced = {id(module.weight) for group in cut for module in (group.first, group.second)}
    sites = [site for site in find_sites(model, scheme="channel") if id(site.weight) in replaced]
    for group, kept, masks in zip(groups, allocation.kept, allocation.masks, strict=True):
        if kept is not None:
            assert masks is not None
            places = np.argsort(group.order[kept])  # channels stay in their old order
            cut_channels_(model, group, group.order[kept][places], masks[kept][places])
    check_replaced(model, sites, example)
    return count_costs(model, example)


def _is_cut(group: ChannelGroup, kept: np.ndarray | None, masks: np.ndarray | None) -> bool:
    """Say whether anything of a group has changed."""
    return kept is not None and masks is not None and (len(kept) < group.num_channels or bool((masks != 1).any()))


def _change(group: ChannelGroup, cost: Mapping[str, int], kept: np.ndarray | None, rows: int) -> LayerChange:
    number = group.num_channels if kept is None else len(kept)
    return LayerChange(
        names=tuple(group.modules),
        kind="channels",
        shape=tuple(group.weight.shape),
        rank=None if number == group.num_channels else number,
        full_rank=group.num_channels,
        macs_before=group.num_channels * cost["macs"] // rows,
        macs_after=number * cost["macs"] // rows,
        params_before=group.num_channels * cost["params"],
        params_after=number * cost["params"],
    )
