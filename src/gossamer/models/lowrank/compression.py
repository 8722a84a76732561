"""The door: any trained network, compressed to a stated budget in one call."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from gossamer.core.checks import check_bool, check_choice, check_int
from gossamer.models.lowrank.assembly import roll_up_, split_sites_, unroll_
from gossamer.models.lowrank.batches import Batch, BatchSource, num_rows
from gossamer.models.lowrank.budget import Budget, check_budget, check_met, per_example
from gossamer.models.lowrank.counting import (
    batch_norms,
    count_costs,
    count_macs,
    evaluating,
    observe_uses,
)
from gossamer.models.lowrank.factors import Factors, factorise
from gossamer.models.lowrank.heuristics import (
    allocate_by_threshold,
    allocate_by_variation,
    allocate_by_vbmf,
    allocate_greedily,
    allocate_uniformly,
)
from gossamer.models.lowrank.knapsack import allocate_exactly, weighed_shares
from gossamer.models.lowrank.matrices import SCHEMES
from gossamer.models.lowrank.observing import Call, InputStatistics, WatchWeights
from gossamer.models.lowrank.output_metric import OutputMetrics
from gossamer.models.lowrank.pricing import make_problem
from gossamer.models.lowrank.problem import WHOLE, Problem
from gossamer.models.lowrank.recalibration import recalibrate_
from gossamer.models.lowrank.report import CompressionReport, LayerChange
from gossamer.models.lowrank.search import (
    Allocation,
    Loss,
    MaskedNetwork,
    SearchSettings,
    allocate_cobla,
    cheapest_start,
    first_triplets,
)
from gossamer.models.lowrank.sensitivity import measured_ranks
from gossamer.models.lowrank.sites import Site, find_sites
from gossamer.models.lowrank.timing import time_models

COBLA = "cobla"
RULES: dict[str, Callable[[Problem], list[int]]] = {
    "pos_cvx": allocate_exactly,
    "pos_greedy": allocate_greedily,
    "cptv": allocate_by_variation,
    "vbmf": allocate_by_vbmf,
    "gavish_donoho": allocate_by_threshold,
    "uniform": allocate_uniformly,
}
ALLOCATORS = (COBLA, *RULES)
POWERS = [0.0, 0.25, 0.5, 0.75, 1.0]  # of energies as weights of layers
METRIC_BATCHES = 4  # a backward pass costs more than a forward one
TIME_ATTEMPTS = 4
TIME_MARGIN = 0.97  # the measured time of the whole must not exceed what its parts promised


def compress(
    model: nn.Module,
    *,
    data: Iterable[Any],
    budget: Budget,
    loss: Loss | None = None,
    allocator: str = COBLA,
    scheme: str = "spatial",
    fitted: bool = True,
    recalibrate: bool = True,
    keep: Collection[str] = (),
    only: Collection[str] | None = None,
    calibration_batches: int = 8,
    search: SearchSettings | None = None,
) -> nn.Module:
    """Return a copy of `model` whose layers are split into two where that pays, within every limit of `budget`.

    `data` yields (inputs, target) batches of *training* data, with the augmentation of the training where there are
    batch norms; the first one gives the shapes that costs are counted from, the first `calibration_batches` the
    statistics. `loss(output, target)` guides the allocator "cobla"; the other allocators need none. Convolutions are
    split by `scheme`, "spatial" (k×1, 1×k) or "channel" (k×k, 1×1). `fitted` factors minimise the error on the layer's
    own inputs instead of that of the weight; `recalibrate` renews the statistics of batch norms. `keep` and `only` are
    patterns of layers' names, as in a shell.

    The model itself is not changed. What is returned holds ordinary layers only and carries its
    `compression_report`. LSTM, GRU and attention are split matrix by matrix, embeddings and tied output layers as one.

    >>> model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
    >>> data = [(torch.randn(64, 32), torch.randint(4, (64,))) for _ in range(3)]
    >>> small = compress(model, data=data, budget=Budget(macs=0.5), allocator="pos_cvx")
    >>> small.compression_report.share("macs") <= 0.5
    True
    """
    began = time.perf_counter()
    check_arguments(model, budget, loss, allocator, fitted, recalibrate, calibration_batches)
    check_choice("scheme", scheme, SCHEMES)
    source = BatchSource(data, needs_targets=allocator == COBLA)
    work = _prepare(model, source, scheme, keep, only)
    original = count_costs(work.model, work.example)
    if "milliseconds" in budget.names:
        original["milliseconds"] = time_models([model], work.example)[0]
    is_recalibrated = recalibrate and bool(batch_norms(work.model))
    factors = _factors(work, source.first(calibration_batches) if fitted else [], is_recalibrated)
    limits = budget.limits(per_example(original, work.num_rows), per_example(_open_costs(work), work.num_rows))
    if "macs" in limits:
        limits["macs"] = float(int(limits["macs"] * work.num_rows))
    promised = dict(limits)
    for attempt in range(TIME_ATTEMPTS):
        problem = make_problem(work.sites, factors, original, promised, work.calls)
        allocation = _allocate(allocator, problem, work, factors, loss, source, search, is_recalibrated)
        small, after = _assemble(work, factors, allocation)
        if is_recalibrated:
            recalibrate_(small, source.first(calibration_batches))
        before = dict(original)
        before["milliseconds"], after["milliseconds"] = time_models([model, small], work.example)
        if "milliseconds" not in limits or after["milliseconds"] <= limits["milliseconds"]:
            break
        if attempt + 1 == TIME_ATTEMPTS:
            raise ValueError(
                f"budget milliseconds must be within reach of low rank, got {limits['milliseconds']:.3g}; "
                f"the fastest network found takes {after['milliseconds']:.3g}"
            )
        promised["milliseconds"] *= TIME_MARGIN * limits["milliseconds"] / after["milliseconds"]
    check_met(after, limits)
    report = CompressionReport(
        layers=tuple(_changes(work, allocation)),
        before=per_example(before, work.num_rows),
        after=per_example(after, work.num_rows),
        limits=per_example(limits, work.num_rows),
        allocator=allocator,
        scheme=scheme,
        fitted=fitted,
        recalibrated=is_recalibrated,
        seconds=time.perf_counter() - began,
        iterations=tuple(allocation.iterations),
    )
    small.compression_report = report  # type: ignore[assignment]
    return small.train(model.training)


class _Holder(nn.Module):
    """A parent for the model, so that a model that is one layer can be replaced, too."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model


@dataclass
class _Work:
    """A copy of the model that is worked on, its sites that may be split, and what was seen on the example."""

    holder: _Holder
    originals: dict[nn.Module, nn.Module]
    all_sites: list[Site]
    example: Batch
    calls: list[Call]
    num_rows: int

    @property
    def model(self) -> nn.Module:
        return self.holder.model

    @property
    def sites(self) -> list[Site]:
        return [site for site in self.all_sites if site.stays is None]


def check_arguments(
    model: object,
    budget: object,
    loss: object,
    allocator: str,
    fitted: bool,
    recalibrate: bool,
    calibration_batches: int,
) -> None:
    """Check what `compress` and `prune` are both given."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be an nn.Module, got {type(model).__name__}")
    check_budget(budget)
    check_choice("allocator", allocator, ALLOCATORS)
    check_bool("fitted", fitted)
    check_bool("recalibrate", recalibrate)
    check_int("calibration_batches", calibration_batches, at_least=1)
    if allocator == COBLA and not callable(loss):
        raise ValueError(
            f"loss must be a function of (output, target) for the allocator 'cobla', got {loss!r}; "
            "pass one, or allocator='pos_cvx', which needs none"
        )


def _prepare(
    model: nn.Module, source: BatchSource, scheme: str, keep: Collection[str], only: Collection[str] | None
) -> _Work:
    """Copy the model, take its recurrent networks and attention apart, and watch it work on the first batch."""
    example = source[0]
    try:
        holder = _Holder(copy.deepcopy(model))
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"model must be one that copy.deepcopy can copy, got: {error}") from error
    originals = unroll_(holder, _packed(holder.model, example))
    sites = find_sites(holder.model, scheme=scheme, keep=keep, only=only)
    calls = observe_uses(holder.model, sites, example)
    work = _Work(holder, originals, sites, example, calls, num_rows(example))
    if not work.sites:
        reasons = sorted({f"{site.name or 'the model'} {site.stays}" for site in sites})
        raise ValueError(
            "model must have a Linear, Conv1d, Conv2d, Embedding, LSTM, GRU or MultiheadAttention layer to split, got "
            + ("; ".join(reasons) if reasons else f"none in {type(model).__name__}")
        )
    first, second = count_macs(holder.model, example), count_macs(holder.model, example)
    if first != second:
        raise ValueError(
            f"model must do the same at every pass over the same batch, got {first:,} and then {second:,} "
            "multiply-adds; costs of a network that changes cannot be promised"
        )
    return work


@torch.no_grad()
def _packed(model: nn.Module, example: Batch) -> set[nn.Module]:
    """Return the recurrent networks that are given packed sequences, which a loop over steps does not take."""
    found: set[nn.Module] = set()

    def note(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if inputs and isinstance(inputs[0], PackedSequence):
            found.add(module)

    recurrent = [module for module in model.modules() if isinstance(module, nn.RNNBase)]
    hooks = [module.register_forward_pre_hook(note) for module in recurrent]
    try:
        with evaluating(model):
            model(*example[0])
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _factors(work: _Work, batches: list[Batch], is_recalibrated: bool) -> list[Factors]:
    """Return the triplets of every site, fitted on `batches`, where there are any, to its inputs and what it feeds.

    Batch norms whose statistics will be renewed take the mean of their inputs away, whatever it is by then.
    """
    inputs, outputs = InputStatistics(work.sites), OutputMetrics(work.sites)
    with torch.no_grad(), evaluating(work.model), WatchWeights(work.sites, inputs.see):
        for batch in batches:
            work.model(*batch[0])
    outputs.see(work.model, batches[:METRIC_BATCHES])
    return [
        factorise(
            site.to_matrix(site.weight),
            **inputs.metric(site, centred=is_recalibrated and site.is_normalised),
            **outputs.metric(site),
        )
        for site in work.sites
    ]


def _allocate(
    allocator: str,
    problem: Problem,
    work: _Work,
    factors: list[Factors],
    loss: Loss | None,
    source: BatchSource,
    search: SearchSettings | None,
    batch_statistics: bool,
) -> Allocation:
    if allocator != COBLA:
        return first_triplets(RULES[allocator](problem), problem)
    assert loss is not None
    settings = search or SearchSettings()
    network = MaskedNetwork(work.model, work.sites, factors, loss, source, batch_statistics=batch_statistics)
    try:
        start = cheapest_start(network, problem, _starts(problem, factors), settings)
        start = measured_ranks(network, problem, start, settings)
    finally:
        network.restore()
    return allocate_cobla(network, problem, start, settings)


def _starts(problem: Problem, factors: list[Factors]) -> list[list[int]]:
    """Return ranks where COBLA's search may start: POS-CVX's, and those that weigh layers by their energies.

    Equation 2.12 counts the shares of all layers alike. Where energies are errors of the network's output, a layer may
    count by what it has of them. How much so only the loss of the network with all its layers compressed can say, and
    one number is little enough to be told by a few batches.
    """
    is_comparable = all(factor.is_comparable for factor in factors)
    found = [
        allocate_exactly(problem, weighed_shares(problem, power)) for power in (POWERS if is_comparable else [0.0])
    ]
    return [ranks for number, ranks in enumerate(found) if ranks not in found[:number]]


def _assemble(work: _Work, factors: list[Factors], allocation: Allocation) -> tuple[nn.Module, dict[str, float]]:
    """Return a network with the chosen layers split, and what it costs.

    The copy that is worked on stays whole for another attempt. Costs are counted before untouched recurrent networks
    get their fused kernels back, which the counter cannot look into.
    """
    holder, originals, sites = copy.deepcopy((work.holder, work.originals, work.sites))
    chosen = {}
    for site, factor, kept, masks in zip(sites, factors, allocation.kept, allocation.masks, strict=True):
        if kept is not None:
            assert masks is not None
            chosen[site] = factor.select(torch.from_numpy(kept), torch.from_numpy(masks))
    split_sites_(holder, chosen)
    costs = count_costs(holder.model, work.example)
    roll_up_(holder, originals)
    return holder.model, costs


def _open_costs(work: _Work) -> dict[str, float]:
    """Return what the layers that may be split cost together while they are whole."""
    return {
        "macs": float(sum(use.whole_macs for site in work.sites for use in site.uses)),
        "params": float(sum(site.weight.numel() for site in work.sites)),
        "bytes": float(sum(site.weight.nbytes for site in work.sites)),
    }


def _changes(work: _Work, allocation: Allocation) -> list[LayerChange]:
    ranks = dict(zip(work.sites, allocation.ranks, strict=True))
    changes = []
    for site in work.all_sites:
        rank = ranks.get(site, WHOLE)
        whole_macs = sum(use.whole_macs for use in site.uses)
        rank_macs = sum(use.rank_macs for use in site.uses)
        is_whole = rank == WHOLE
        changes.append(
            LayerChange(
                names=tuple(name or type(site.first).__name__ for name in site.modules),
                kind=" + ".join(sorted({type(module).__name__ for module in site.modules.values()})),
                shape=tuple(site.weight.shape),
                rank=None if is_whole else rank,
                full_rank=min(site.matrix_shape()),
                macs_before=whole_macs // work.num_rows,
                macs_after=(whole_macs if is_whole else rank * rank_macs) // work.num_rows,
                params_before=site.weight.numel(),
                params_after=site.weight.numel() if is_whole else rank * site.rank_params(),
                stayed=site.stays,
            )
        )
    return changes
