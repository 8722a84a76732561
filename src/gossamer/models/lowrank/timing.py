"""How long layers and networks really take on this machine: half the multiply-adds are not half the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.lowrank.assembly import build_layers
from gossamer.models.lowrank.batches import Batch
from gossamer.models.lowrank.counting import evaluating
from gossamer.models.lowrank.factors import Factors
from gossamer.models.lowrank.observing import Call
from gossamer.models.lowrank.sites import Site

MULTIPLE = 8  # ranks that fill vector registers
MAX_RANKS = 8  # of a layer that are measured
REPEATS = 5


@torch.no_grad()
def milliseconds_of(actions: Sequence[Callable[[], object]], repeats: int = REPEATS) -> list[float]:
    """Return the fastest run of each action, taken in turns so that a busy moment does not fall on one alone."""
    for action in actions:
        action()  # the first run allocates and compiles
    best = [float("inf")] * len(actions)
    for _ in range(repeats):
        for number, action in enumerate(actions):
            began = time.perf_counter()
            action()
            best[number] = min(best[number], 1000 * (time.perf_counter() - began))
    return best


def time_models(models: Sequence[nn.Module], batch: Batch, repeats: int = REPEATS) -> list[float]:
    """Return the milliseconds that each model takes for the batch, in evaluation."""

    def action(model: nn.Module) -> Callable[[], object]:
        def run() -> object:
            with evaluating(model):
                return model(*batch[0])

        return run

    return milliseconds_of([action(model) for model in models], repeats)


@torch.no_grad()
def time_choices(site: Site, factors: Factors, calls: Sequence[Call], ranks: Sequence[int]) -> Float[np.ndarray, " n"]:
    """Return the milliseconds of a site's calls on the example: whole first, then split at each of `ranks`."""
    own = [call for call in calls if call.site is site]
    layers = [build_layers(site, _first(factors, rank)) for rank in ranks]
    made = [list(site.modules.values()), *layers]
    actions = [lambda modules=modules: _repeat(site, modules, own) for modules in made]
    return np.array(milliseconds_of(actions))


def ranks_to_time(full_rank: int, largest_paying: int) -> list[int]:
    """Return up to `MAX_RANKS` ranks worth measuring: multiples of 8 up to what can pay, or all of few.

    >>> ranks_to_time(64, 30), ranks_to_time(6, 3)
    ([8, 16, 24, 30], [1, 2, 3])
    """
    largest = min(full_rank, largest_paying)
    if largest <= MAX_RANKS:
        return list(range(1, largest + 1))
    multiples = np.arange(MULTIPLE, largest + 1, MULTIPLE)
    if len(multiples) >= MAX_RANKS:
        multiples = multiples[np.unique(np.linspace(0, len(multiples) - 1, MAX_RANKS).round().astype(int))]
        return [int(rank) for rank in multiples]
    return sorted({*map(int, multiples), largest})


def _first(factors: Factors, rank: int) -> Factors:
    return factors.select(torch.arange(rank), torch.ones(factors.rank))


def _repeat(site: Site, modules: Sequence[nn.Module], calls: Sequence[Call]) -> Tensor | None:
    """Do a site's calls again, by the modules that stand for those that hold it."""
    kinds = [nn.Embedding if isinstance(old, nn.Embedding) else nn.Linear for old in site.modules.values()]
    by_kind = dict(zip(kinds, modules, strict=True))
    output: Tensor | None = None
    for call in calls:
        if call.kind == "embedding":
            output = by_kind[nn.Embedding](call.inputs)
        elif call.kind == "linear" and nn.Linear not in by_kind:  # a tied output without a module of its own
            table = by_kind[nn.Embedding]
            has_logits = hasattr(table, "logits")
            output = table.logits(call.inputs) if has_logits else call.inputs @ table.weight.mT  # type: ignore[operator]
        else:
            output = modules[0](call.inputs) if call.kind == "conv" else by_kind[nn.Linear](call.inputs)
    return output
