"""One optimiser for a whole network: proximal steps on every T, plain ones on everything else (algorithm 1)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torch import nn

from gossamer.core.checks import check_choice, check_real
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.regrowth import Regrowth

if TYPE_CHECKING:
    from gossamer.training.proximal import ProximalOptimiser

KINDS = ("yogi", "adam", "sgd")


def make_optimiser(
    module: nn.Module,
    *,
    kind: str = "yogi",
    learning_rate: float,
    l1: float = 0.0,
    regrow_every: int | None = 10,
    **options: Any,
) -> ProximalOptimiser:
    """Return an optimiser of all parameters of `module` that keeps each T of it non-negative and sparse.

    The objective is the batch's mean loss + l1 · Σ‖T ⊙ S‖₁ over the `AnchorEmbedding`s in `module`. Lookups apply the
    thresholds their rows have skipped before they read them; `regrow_every` updates free slots are given to new
    anchors (`regrowth.py`; None: never). `options` are those of the optimiser, such as `betas` and `eps`.
    """
    from gossamer.training.optimisers import ProximalAdam, ProximalSGD, ProximalYogi

    check_choice("kind", kind, KINDS)
    check_real("l1", l1, at_least=0)
    tables = list({id(part): part for part in module.modules() if isinstance(part, AnchorEmbedding)}.values())
    sparse_ids = {id(table.values) for table in tables}
    plain = [parameter for parameter in module.parameters() if id(parameter) not in sparse_ids]
    groups: list[dict[str, Any]] = [
        {"params": [table.values], "l1": l1, "nonnegative": True, "exempt": table.exempt} for table in tables
    ]
    if plain:
        groups.append({"params": plain})
    make = {"yogi": ProximalYogi, "adam": ProximalAdam, "sgd": ProximalSGD}[kind]
    optimiser: ProximalOptimiser = make(groups, learning_rate, **options)
    for table in tables:
        table.optimiser = optimiser
        if regrow_every is not None and table.num_slots < table.num_anchors:
            table.regrowth = Regrowth(table, optimiser, l1, regrow_every)
            optimiser.register_step_post_hook(partial(_after_step, table.regrowth))
    return optimiser


def _after_step(regrowth: Regrowth, *_: Any) -> None:
    regrowth.after_update()
