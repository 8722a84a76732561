"""From limits to a network within them: allocate, put together, renew statistics, and time what was promised."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

from gossamer.models.lowrank.answers import Guide, choose_guide, gives_answers
from gossamer.models.lowrank.assembly import roll_up_, split_sites_
from gossamer.models.lowrank.balancing import balance_
from gossamer.models.lowrank.batches import Batch, BatchSource
from gossamer.models.lowrank.budget import Budget
from gossamer.models.lowrank.counting import check_replaced, count_costs, evaluating
from gossamer.models.lowrank.factors import Factors
from gossamer.models.lowrank.folding import folded_copy
from gossamer.models.lowrank.heuristics import (
    allocate_by_threshold,
    allocate_by_variation,
    allocate_by_vbmf,
    allocate_greedily,
    allocate_uniformly,
)
from gossamer.models.lowrank.knapsack import allocate_exactly, weighed_shares
from gossamer.models.lowrank.observing import Call
from gossamer.models.lowrank.pricing import make_problem
from gossamer.models.lowrank.problem import BudgetOutOfReach, Problem
from gossamer.models.lowrank.recalibration import recalibrate_
from gossamer.models.lowrank.refitting import is_refittable, layers_to_refit, refit_where_better_
from gossamer.models.lowrank.search import (
    Allocation,
    MaskedNetwork,
    SearchSettings,
    allocate_cobla,
    cheapest_start,
    first_triplets,
    polish_numbers,
)
from gossamer.models.lowrank.sensitivity import measured_ranks
from gossamer.models.lowrank.sites import Site
from gossamer.models.lowrank.timing import REPEATS, time_models

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
TIME_ATTEMPTS = 5
TIME_REPEATS = 4 * REPEATS  # of a network whose time was promised: it must not pass by one lucky run
REHEARSAL = "pos_cvx"
TIME_MARGIN = 0.01  # of the time that is allowed: two timings of one network differ by about as much


class Holder(nn.Module):
    """A parent for the model, so that a model that is one layer can be replaced, too."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model


@dataclass
class Work:
    """A copy of the model that is worked on, its sites that may be split, and what was seen on the example."""

    holder: Holder
    originals: dict[nn.Module, nn.Module]
    all_sites: list[Site]
    example: Batch
    calls: list[Call]
    num_rows: int

    @property
    def model(self) -> nn.Module:
        """The copy."""
        return self.holder.model

    @property
    def sites(self) -> list[Site]:
        """Those that may be split."""
        return [site for site in self.all_sites if site.stays is None]


@dataclass
class Outcome:
    """A network that was split, what it cost before and costs after, and the ranks of its layers.

    `least` are the costs of the cheapest choice of every layer, as they were promised.
    """

    network: nn.Module
    before: dict[str, float]
    after: dict[str, float]
    allocation: Allocation
    least: dict[str, float] = field(default_factory=dict)
    is_refitted: bool = False
    is_recalibrated: bool = False

    def time_beside(self, model: nn.Module, example: Batch, *, is_limited: bool, folds: bool) -> None:
        """Note what the original and this network take, timed in turns, and longer where time `is_limited`."""
        timed = folded_copy(self.network, example) if folds else self.network
        repeats = TIME_REPEATS if is_limited else REPEATS
        self.before["milliseconds"], self.after["milliseconds"] = time_models([model, timed], example, repeats)


def costs_before(model: nn.Module, work: nn.Module, example: Batch, budget: Budget) -> dict[str, float]:
    """Return what the original costs, counted on `work`, its copy; milliseconds only where they have a budget."""
    found: dict[str, float] = dict(count_costs(work, example))
    if "milliseconds" in budget.names:
        found["milliseconds"] = time_models([model], example, TIME_REPEATS)[0]
    return found


def totals_to_save_from(
    model: nn.Module, example: Batch, original: dict[str, float], limits: dict[str, float], *, folds: bool
) -> dict[str, float]:
    """Return what the network costs before any choice: what folding its batch norms saves need not be saved again."""
    if not folds or "milliseconds" not in limits:
        return original
    return {**original, "milliseconds": time_models([folded_copy(model, example)], example, TIME_REPEATS)[0]}


@dataclass
class Attempt:
    """All that compressing to some limits takes, whatever they are and whoever allocates.

    `recalibration_batches` is how many batches renew the statistics of batch norms, 0 where there are none to renew.
    With `refits` second factors are fitted anew in the split network, with `folds` networks are timed with their batch
    norms folded into the layers before them.
    """

    model: nn.Module
    work: Work
    factors: list[Factors]
    source: BatchSource
    loss: Guide | None
    search: SearchSettings | None
    recalibration_batches: int
    refits: bool = False
    folds: bool = False

    def __call__(self, allocator: str, original: dict[str, float], limits: dict[str, float]) -> Outcome:
        """Return a network within `limits`, split but not finished: how long it takes does not depend on that."""
        work = self.work
        totals = totals_to_save_from(self.model, work.example, original, limits, folds=self.folds)
        problem = make_problem(work.sites, self.factors, totals, limits, work.calls, work.num_rows)
        allocation = self._allocate(allocator, problem)
        small, after = _assemble(work, self.factors, allocation)
        found = Outcome(small, dict(original), after, allocation, problem.least())
        found.time_beside(self.model, work.example, is_limited="milliseconds" in limits, folds=self.folds)
        return found

    def finish(self, found: Outcome, allocator: str) -> None:
        """Give the network of an outcome its last factors and statistics, in place.

        One of which nothing was split answers as it did: its statistics are its own.
        """
        is_split = any(kept is not None for kept in found.allocation.kept)
        if self.refits and is_split:
            self._refit(found, allocator)
        balance_(found.network)
        if self.recalibration_batches and is_split:
            recalibrate_(found.network, self.source.first(self.recalibration_batches))
            found.is_recalibrated = True

    def _refit(self, found: Outcome, allocator: str) -> None:
        sites = layers_to_refit(self.work.calls, found.network)
        is_cobla = allocator == COBLA
        guide = choose_guide(self.loss if is_cobla else None, self.source, self.model)
        if not (self._polishes_later() if is_cobla else sites and gives_answers(guide[1])):
            return
        found.is_refitted = refit_where_better_(
            found.network,
            self.work.model,
            sites,
            self.source,
            guide,
            polish_numbers=polish_numbers(self.search or SearchSettings()) if is_cobla else (),
            batch_statistics=bool(self.recalibration_batches),
        )

    def _allocate(self, allocator: str, problem: Problem) -> Allocation:
        if allocator != COBLA:
            return first_triplets(RULES[allocator](problem), problem)
        settings = self.search or SearchSettings()
        guide, source = choose_guide(self.loss, self.source, self.model)
        network = MaskedNetwork(
            self.work.model,
            self.work.sites,
            self.factors,
            guide,
            source,
            batch_statistics=bool(self.recalibration_batches),
        )
        try:
            start = cheapest_start(network, problem, _starts(problem, self.factors), settings)
            start = measured_ranks(network, problem, start, settings)
        finally:
            network.restore()
        return allocate_cobla(network, problem, start, settings, is_polished_later=self._polishes_later())

    def _polishes_later(self) -> bool:
        """Say whether masks are polished in the split network, after its factors may have been fitted anew."""
        return self.refits and any(map(is_refittable, self.work.sites))


def compress_within(
    attempt: Callable[[str, dict[str, float], dict[str, float]], Outcome],
    allocator: str,
    original: dict[str, float],
    limits: dict[str, float],
    time_share: float | None = None,
    *,
    means: str = "low rank",
) -> Outcome:
    """Attempt until the network is as fast as is asked for, promising less time after each that is not.

    The first correction is as small as it can be, those after it leave more and more for what timings differ by.

    How much less is found out by a rule, which takes seconds, before a search begins, which takes minutes. Where a
    `time_share` of the original's time was asked for, it must also be met by the two networks timed in turns: what the
    original took before, while the machine was perhaps slower, is no measure of that.
    """
    promised = dict(limits)
    limit, fastest = limits.get("milliseconds", float("inf")), float("inf")
    failures = 0
    tries = [allocator] * TIME_ATTEMPTS
    if allocator == COBLA and "milliseconds" in limits:
        tries = [REHEARSAL] * TIME_ATTEMPTS + tries
    while tries:
        try:
            found = attempt(tries[0], original, promised)
        except BudgetOutOfReach:
            if promised == limits:
                raise
            break  # what was asked for may be in reach, but not what it takes to get there
        taken = found.after["milliseconds"]
        allowed = limit if time_share is None else min(limit, time_share * found.before["milliseconds"])
        if taken <= allowed and tries[0] == allocator:
            return found
        if taken <= allowed:  # the rehearsal is over
            tries, failures = [allocator] * TIME_ATTEMPTS, 0
            continue
        tries, failures, fastest = tries[1:], failures + 1, min(fastest, taken)
        least = found.least.get("milliseconds", 0.0)
        next_promise = _next_promise(promised["milliseconds"], allowed, taken, least)
        promised["milliseconds"] = next_promise - failures * TIME_MARGIN * allowed
    raise ValueError(
        f"budget milliseconds must be within reach of {means}, got {limit:.3g}; "
        f"the fastest network found takes {fastest:.3g}"
    )


def _next_promise(promised: float, allowed: float, taken: float, least: float) -> float:
    """Return what to promise after a network that was promised one time has `taken` more than is `allowed`.

    Only what is above the `least` can be had for less: where that is nine tenths of the promise, a twentieth off all of
    it would be half of what the layers have.

    >>> _next_promise(6.0, 6.0, 8.0, 0.0), round(_next_promise(6.0, 6.0, 6.5, 5.0), 3)
    (4.5, 5.667)
    """
    if taken <= least:  # what is said to be least is not
        least = 0.0
    return least + (promised - least) * max(allowed - least, 0.0) / (taken - least)


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


def _assemble(work: Work, factors: list[Factors], allocation: Allocation) -> tuple[nn.Module, dict[str, float]]:
    """Return a network with the chosen layers split, and what it costs.

    The copy that is worked on stays whole for another attempt. Costs are counted before untouched recurrent networks
    get their fused kernels back, which the counter cannot look into.
    """
    with torch.no_grad(), evaluating(work.model):  # what a parametrisation computed with a gradient cannot be copied
        work.model(*work.example[0])
    holder, originals, sites = copy.deepcopy((work.holder, work.originals, work.sites))
    chosen: dict[Site, Factors] = {}
    for site, factor, kept, masks in zip(sites, factors, allocation.kept, allocation.masks, strict=True):
        if kept is not None:
            assert masks is not None
            chosen[site] = factor.select(torch.from_numpy(kept), torch.from_numpy(masks))
    split_sites_(holder, chosen)
    check_replaced(holder.model, list(chosen), work.example)
    costs = count_costs(holder.model, work.example)
    roll_up_(holder, originals)
    return holder.model, costs
