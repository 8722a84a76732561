"""Channel pruning by masking variables under the same budgets: the dissertation's future work (section 2.8)."""

from __future__ import annotations

import copy
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from gossamer.core.checks import check_choice
from gossamer.models.lowrank.admission import check_arguments, check_model, check_pass, copy_of, return_buffers_
from gossamer.models.lowrank.answers import AnsweredBatches, Guide, choose_guide, needs_targets
from gossamer.models.lowrank.attempts import (
    COBLA,
    RULES,
    Outcome,
    compress_within,
    costs_before,
    totals_to_save_from,
)
from gossamer.models.lowrank.batches import Batch, BatchSource, counted_batch, num_rows
from gossamer.models.lowrank.budget import Budget, check_met, per_example
from gossamer.models.lowrank.channel_pricing import Inputs, channel_costs, price_channels
from gossamer.models.lowrank.channels import ChannelGroup, ChannelMasks, cut_channels_, find_groups
from gossamer.models.lowrank.counting import batch_norms, check_replaced, count_costs, evaluating
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
    fold: bool | str = False,
) -> nn.Module:
    """Return a copy of `model` with fewer channels between convolutions, within every limit of `budget`.

    Channels are cut between two convolutions that nothing else sees, with a batch norm or channel-wise functions in
    between: the inner channels of residual blocks, not those that shortcuts share. A channel's importance is the energy
    that it brings to the second convolution, ‖w_c‖² times the mean square of its input where `fitted`. The allocator
    "cobla" masks channels and searches as `compress` does; the others take the most important ones. Milliseconds are
    promised by timing both convolutions with some of their channels, and kept as by `compress`, as are other arguments.
    """
    began = time.perf_counter()
    check_arguments(model, budget, loss, allocator, fitted, recalibrate, fold, calibration_batches, search, keep, only)
    check_choice("allocator", allocator, PRUNING_ALLOCATORS)
    source = BatchSource(data, needs_targets=allocator == COBLA and needs_targets(loss))
    counted = counted_batch(source, example)
    whole_model, work = _two_copies(model, counted)
    groups = _open_groups(work, counted, keep, only)
    original, rows = costs_before(whole_model, work, counted, budget), num_rows(counted)
    costs, inputs = channel_costs(work, groups, counted)
    limits = budget.limits(original, _open_costs(groups, costs), rows)
    attempt = PruningAttempt(
        whole_model,
        work,
        groups,
        _importance(work, groups, source.first(calibration_batches) if fitted else []),
        costs,
        inputs,
        counted,
        choose_guide(loss, source, whole_model),
        search,
        source.first(calibration_batches) if recalibrate and batch_norms(work) else [],
        folds=bool(fold),
    )
    found = compress_within(attempt, allocator, original, limits, budget.time_share, means="pruning")
    attempt.renew(found)
    folded = fold_and_count_(found.network, counted, found.after) if fold is True else ()
    check_met(found.after, limits)
    return_buffers_(found.network, model, except_norms=found.is_recalibrated)
    found.network.compression_report = CompressionReport(  # type: ignore[assignment]
        layers=_changes(groups, costs, found.allocation, rows),
        before=per_example(found.before, rows),
        after=per_example(found.after, rows),
        limits=per_example(limits, rows),
        allocator=allocator,
        scheme=PRUNE,
        fitted=fitted,
        recalibrated=found.is_recalibrated,
        seconds=time.perf_counter() - began,
        iterations=tuple(found.allocation.iterations),
        folded=folded,
    )
    return found.network


@dataclass
class PruningAttempt:
    """All that pruning to some limits takes, whatever they are and whoever allocates.

    `model` stays whole and `work` is a copy with the `groups`, one channel of which costs `costs`; `energies` are their
    channels', in falling order, and `inputs` what convolutions are given on the `example`. Batch norms get new
    statistics from the batches `renewing`, where there are any; with `folds` networks are timed folded.
    """

    model: nn.Module
    work: nn.Module
    groups: list[ChannelGroup]
    energies: list[Float[np.ndarray, " C"]]
    costs: list[dict[str, int]]
    inputs: Inputs
    example: Batch
    guide: tuple[Guide, BatchSource | AnsweredBatches]
    search: SearchSettings | None
    renewing: list[Batch]
    folds: bool

    def __call__(self, allocator: str, original: dict[str, float], limits: dict[str, float]) -> Outcome:
        """Return a copy of the network that is cut within `limits`, its statistics as they were."""
        totals = totals_to_save_from(self.model, self.example, original, limits, folds=self.folds)
        problem = self._problem(totals, limits)
        allocation = self._allocate(allocator, problem)
        small, groups = copy.deepcopy((self.work, self.groups))
        after = _cut_(small, groups, allocation, self.example)
        found = Outcome(small, dict(original), after, allocation, problem.least())
        found.time_beside(self.model, self.example, is_limited="milliseconds" in limits, folds=self.folds)
        return found

    def renew(self, found: Outcome) -> None:
        """Renew the statistics of a network that was cut, in place."""
        if self.renewing and any(map(_is_cut, self.groups, found.allocation.kept, found.allocation.masks)):
            recalibrate_(found.network, self.renewing)
            found.is_recalibrated = True

    def _problem(self, totals: Mapping[str, float], limits: Mapping[str, float]) -> Problem:
        names = tuple(limits)
        layers = []
        for group, energy, cost in zip(self.groups, self.energies, self.costs, strict=True):
            shape = (group.num_channels, group.num_channels)
            table = price_channels(group, cost, names, self.inputs)
            layers.append(LayerChoices(next(iter(group.modules)), energy, table, shape))
        whole = sum((layer.costs[WHOLE] for layer in layers), np.zeros(len(names)))
        # Layers timed one by one may add up to more than the network: nothing costs less than nothing.
        fixed = np.maximum(np.array([totals[name] for name in names]) - whole, 0)
        problem = Problem(
            tuple(layers), fixed, np.array([limits[name] for name in names]), names, num_rows(self.example)
        )
        problem.check_reachable()
        return problem

    def _allocate(self, allocator: str, problem: Problem) -> Allocation:
        if allocator != COBLA:
            return first_triplets(RULES[allocator](problem), problem)
        # All channels cost what the whole layer costs, so that unlike a low rank "whole" can be searched, too.
        start = [
            layer.rank if rank == WHOLE else rank
            for layer, rank in zip(problem.layers, RULES["pos_cvx"](problem), strict=True)
        ]
        masks = [ChannelMasks(group.weight, group.order) for group in self.groups]
        network = MaskedNetwork(self.work, self.groups, masks, *self.guide, batch_statistics=bool(self.renewing))
        return allocate_cobla(network, problem, start, self.search or SearchSettings())


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


def _open_costs(groups: Sequence[ChannelGroup], costs: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Return what all channels that may be cut cost together."""
    pairs = list(zip(groups, costs, strict=True))
    return {name: float(sum(group.num_channels * cost[name] for group, cost in pairs)) for name in costs[0]}


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


def _changes(
    groups: Sequence[ChannelGroup], costs: Sequence[Mapping[str, int]], allocation: Allocation, rows: int
) -> tuple[LayerChange, ...]:
    changes = []
    for group, cost, kept in zip(groups, costs, allocation.kept, strict=True):
        number = group.num_channels if kept is None else len(kept)
        changes.append(
            LayerChange(
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
        )
    return tuple(changes)
