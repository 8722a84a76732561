"""The door: any trained network, compressed to a stated budget in one call."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from gossamer.core.checks import check_bool, check_choice
from gossamer.core.remembering import remembered
from gossamer.models.lowrank.admission import check_arguments, check_model, check_pass, copy_of, return_buffers_
from gossamer.models.lowrank.answers import Guide, needs_targets
from gossamer.models.lowrank.assembly import unroll_
from gossamer.models.lowrank.attempts import (
    COBLA,
    Attempt,
    Holder,
    Work,
    compress_within,
    costs_before,
)
from gossamer.models.lowrank.batches import Batch, BatchSource, counted_batch, num_rows
from gossamer.models.lowrank.budget import Budget, check_met, per_example
from gossamer.models.lowrank.counting import (
    batch_norms,
    check_replaced,
    count_macs,
    evaluating,
    observe_uses,
)
from gossamer.models.lowrank.factors import Factors, factorise
from gossamer.models.lowrank.folding import fold_and_count_
from gossamer.models.lowrank.matrices import SCHEMES
from gossamer.models.lowrank.observing import InputStatistics, WatchWeights
from gossamer.models.lowrank.output_metric import OutputMetrics
from gossamer.models.lowrank.problem import WHOLE
from gossamer.models.lowrank.report import CompressionReport, LayerChange
from gossamer.models.lowrank.search import Allocation, SearchSettings
from gossamer.models.lowrank.sites import find_sites, matches

METRIC_BATCHES = 4  # a backward pass costs more than a forward one


def compress(
    model: nn.Module,
    *,
    data: Iterable[Any],
    budget: Budget,
    loss: Guide | None = None,
    allocator: str = COBLA,
    scheme: str = "spatial",
    fitted: bool = True,
    refit: bool | None = None,
    recalibrate: bool = True,
    keep: Collection[str] = (),
    only: Collection[str] | None = None,
    calibration_batches: int = 8,
    search: SearchSettings | None = None,
    example: Any = None,
    fold: bool | str = False,
) -> nn.Module:
    """Return a copy of `model` whose layers are split into two where that pays, within every limit of `budget`.

    `data` yields (inputs, target) batches of *training* data, with the augmentation of the training where there are
    batch norms; the first `calibration_batches` give the statistics, the first one the shapes that costs are counted
    from and the size that is timed, unless `example` gives inputs for just that: one image, for the time of one.
    The allocator "cobla" is guided by `loss(output, target)` or, without one, by how little the model's own answers
    change, for which inputs alone will do (`ByAnswers` measures that otherwise); the other allocators look at
    neither. Convolutions are split by `scheme`, "spatial" (k×1, 1×k) or "channel" (k×k, 1×1). `fitted` factors minimise
    the error on the layer's own inputs instead of that of the weight; `refit` fits the second of the two anew, layer
    after layer, to what the compressed layers before it pass on, wherever factors are fitted if it is None;
    `recalibrate` renews the statistics of batch norms. `keep` and `only` are patterns of layers' names, as in a shell.
    With `fold` batch norms become part of the layers before them, for a network that will not be trained any more; with
    `fold="later"` they stay, but times are those without them, as `fold_norms` leaves the network after its training.

    The model itself is not changed. What is returned holds ordinary layers only and carries its
    `compression_report`. LSTM, GRU and attention are split matrix by matrix, embeddings and tied output layers as one.

    >>> model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
    >>> data = [(torch.randn(64, 32), torch.randint(4, (64,))) for _ in range(3)]
    >>> small = compress(model, data=data, budget=Budget(macs=0.5), allocator="pos_cvx")
    >>> small.compression_report.share("macs") <= 0.5
    True
    """
    began = time.perf_counter()
    check_arguments(model, budget, loss, allocator, fitted, recalibrate, fold, calibration_batches, search, keep, only)
    check_choice("scheme", scheme, SCHEMES)
    refits = fitted if refit is None else check_bool("refit", refit)
    source = BatchSource(data, needs_targets=allocator == COBLA and needs_targets(loss))
    whole = copy_of(model)  # what answers and is timed: passes may leave traces in it
    work = _prepare(whole, counted_batch(source, example), source, scheme, keep, only)
    original = costs_before(whole, work.model, work.example, budget)
    is_recalibrated = recalibrate and bool(batch_norms(work.model))
    factors = _factors(work, source.first(calibration_batches) if fitted else [], is_recalibrated)
    limits = budget.limits(original, _open_costs(work), work.num_rows)
    renewing = calibration_batches if is_recalibrated else 0
    attempt = Attempt(whole, work, factors, source, loss, search, renewing, refits=refits, folds=bool(fold))
    found = compress_within(attempt, allocator, original, limits, budget.time_share)
    attempt.finish(found, allocator)
    folded = fold_and_count_(found.network, work.example, found.after) if fold is True else ()
    check_met(found.after, limits)
    return_buffers_(found.network, model, except_norms=found.is_recalibrated)
    report = CompressionReport(
        layers=tuple(_changes(work, found.allocation)),
        before=per_example(found.before, work.num_rows),
        after=per_example(found.after, work.num_rows),
        limits=per_example(limits, work.num_rows),
        allocator=allocator,
        scheme=scheme,
        fitted=fitted,
        refitted=found.is_refitted,
        recalibrated=found.is_recalibrated,
        seconds=time.perf_counter() - began,
        iterations=tuple(found.allocation.iterations),
        folded=folded,
    )
    found.network.compression_report = report  # type: ignore[assignment]
    return found.network


def _prepare(
    model: nn.Module,
    example: Batch,
    source: BatchSource,
    scheme: str,
    keep: Collection[str],
    only: Collection[str] | None,
) -> Work:
    """Copy the model, take its recurrent networks and attention apart, and watch it work on the example."""
    check_pass(model, source[0])
    if example is not source[0]:
        check_pass(model, example, "example")
    check_model(model)
    holder = Holder(copy_of(model))
    kept = {module for name, module in holder.model.named_modules() if matches(name or type(module).__name__, keep)}
    originals = unroll_(holder, kept | _packed(holder.model, example))
    check_replaced(holder.model, [], example)
    sites = find_sites(holder.model, scheme=scheme, keep=keep, only=only)
    calls = observe_uses(holder.model, sites, example)
    work = Work(holder, originals, sites, example, calls, num_rows(example))
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

    def note(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        if any(isinstance(value, PackedSequence) for value in (*inputs, *named.values())):
            found.add(module)

    recurrent = [module for module in model.modules() if isinstance(module, nn.RNNBase)]
    hooks = [module.register_forward_pre_hook(note, with_kwargs=True) for module in recurrent]
    try:
        with evaluating(model):
            model(*example[0])
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _factors(work: Work, batches: list[Batch], is_recalibrated: bool) -> list[Factors]:
    """Return the triplets of every site, fitted on `batches`, where there are any, to its inputs and what it feeds.

    Budgets and allocators do not change them: many compressions of one network remember them.
    """
    sites = [(site.name, site.scheme, list(site.matrix_shape())) for site in work.sites]
    network = [repr(work.model), dict(work.model.state_dict())]
    causes = [network, sites, [inputs for inputs, _ in batches], is_recalibrated]
    return remembered("factors", causes, lambda: _fit_factors(work, batches, is_recalibrated))


def _fit_factors(work: Work, batches: list[Batch], is_recalibrated: bool) -> list[Factors]:
    """Compute what `_factors` returns.

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


def _open_costs(work: Work) -> dict[str, float]:
    """Return what the layers that may be split cost together while they are whole."""
    return {
        "macs": float(sum(use.whole_macs for site in work.sites for use in site.uses)),
        "params": float(sum(site.weight.numel() for site in work.sites)),
        "bytes": float(sum(site.weight.nbytes for site in work.sites)),
    }


def _changes(work: Work, allocation: Allocation) -> list[LayerChange]:
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
