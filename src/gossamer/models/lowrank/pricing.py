"""The allocation problem of a real network: what every choice of every layer costs, and what the budget allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from gossamer.models.lowrank.factors import Factors
from gossamer.models.lowrank.observing import Call
from gossamer.models.lowrank.problem import WHOLE, LayerChoices, Problem
from gossamer.models.lowrank.sites import Site
from gossamer.models.lowrank.timing import ranks_to_time, time_choices

FASTER = 0.95  # of the whole layer's time: what is hardly less may be more when it is timed again


def price_choices(
    site: Site, factors: Factors, cost_names: Sequence[str], calls: Sequence[Call]
) -> Float[np.ndarray, "choices C"]:
    """Return the costs of leaving a site whole and of each rank; MACs are those of the whole example batch.

    Multiply-adds, numbers and bytes are linear in the rank. Milliseconds are measured at some ranks, and where they are
    limited only those ranks that are clearly faster than the whole layer are open.
    """
    ranks = np.arange(1, factors.rank + 1, dtype=np.float64)
    linear = {
        "macs": (sum(use.whole_macs for use in site.uses), sum(use.rank_macs for use in site.uses)),
        "params": (site.weight.numel(), site.rank_params()),
        "bytes": (site.weight.nbytes, site.rank_params() * site.weight.element_size()),
    }
    columns = []
    for name in cost_names:
        if name == "milliseconds":
            columns.append(_milliseconds(site, factors, calls))
        else:
            whole, each = linear[name]
            columns.append(np.concatenate([[float(whole)], each * ranks]))
    return np.stack(columns, axis=1)


def make_problem(
    sites: Sequence[Site],
    factors: Sequence[Factors],
    totals: Mapping[str, float],
    limits: Mapping[str, float],
    calls: Sequence[Call],
    rows: int = 1,
) -> Problem:
    """Return the problem of splitting `sites` in a network that costs `totals`; both are of a batch of `rows`."""
    names = tuple(limits)
    layers = tuple(
        LayerChoices(
            site.name,
            factor.energies().double().numpy(),
            price_choices(site, factor, names, calls),
            site.matrix_shape(),
        )
        for site, factor in zip(sites, factors, strict=True)
    )
    whole = sum((layer.costs[0] for layer in layers), np.zeros(len(names)))
    # Layers timed one by one may add up to more than the network: nothing costs less than nothing.
    fixed = np.maximum(np.array([totals[name] for name in names]) - whole, 0)
    return Problem(layers, fixed, np.array([limits[name] for name in names]), names, rows)


def _milliseconds(site: Site, factors: Factors, calls: Sequence[Call]) -> Float[np.ndarray, " choices"]:
    largest_paying = max(1, int(site.weight.numel() / site.rank_params()))
    ranks = ranks_to_time(factors.rank, largest_paying)
    return price_times(factors.rank, ranks, time_choices(site, factors, calls, ranks))


def price_times(
    full_rank: int, ranks: Sequence[int], measured: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " choices"]:
    """Return the milliseconds of every choice from those `measured` of the whole, first, and then of some `ranks`.

    >>> price_times(4, [1, 3], np.array([5.0, 2.0, 1.5])).tolist()
    [5.0, 2.0, inf, 2.0, inf]
    >>> price_times(2, [1, 2], np.array([5.0, 4.0, 4.9])).tolist()
    [5.0, 4.0, inf]
    """
    costs = np.full(full_rank + 1, np.inf)
    costs[WHOLE] = measured[0]
    # Noise may say that a lower rank is slower: time rises with the rank.
    rising = np.maximum.accumulate(measured[1:])
    for rank, cost in zip(ranks, rising, strict=True):
        if cost < FASTER * measured[0]:
            costs[rank] = cost
    return costs
