"""Any network with smaller tables: find its embeddings, replace them in place, leave everything else as it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from gossamer.core.checks import check_int, check_real
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.compression_report import CompressionReport, TableChange
from gossamer.models.embeddings.replacements import TableBag, TiedLinear, has_hooks, take_hooks
from gossamer.models.embeddings.table import ROWS_AT_ONCE, EmbeddingTable
from gossamer.models.embeddings.tables import find_table

ALIASES = {"anchor": "ant"}
MIN_VALUES = 10_000  # 40 kB: smaller tables are rarely worth an approximation

Lookup = nn.Embedding | nn.EmbeddingBag
Place = tuple[nn.Module, str]  # a parent and the name of its child


@dataclass
class _Shared:
    """One table of numbers and all modules that hold it, by their first names in the model."""

    weight: Tensor
    lookups: dict[str, Lookup] = field(default_factory=dict)
    outputs: dict[str, nn.Linear] = field(default_factory=dict)
    other: str | None = None  # a module of another kind that holds the weight, too

    @property
    def holders(self) -> dict[str, Lookup | nn.Linear]:
        return {**self.lookups, **self.outputs}


def compress_embeddings_(
    model: nn.Module,
    ratio: float | None = 20,
    method: str = "anchor",
    *,
    min_values: int = MIN_VALUES,
    include: Collection[str] | None = None,
    counts: Mapping[str, Any] | None = None,
    **options: Any,
) -> CompressionReport:
    """Replace the embedding tables of `model` in place by approximations with 1/`ratio` of their numbers.

    Every `nn.Embedding` and `nn.EmbeddingBag` becomes a table of `method` (any name of `tables.TABLES`; "anchor" is
    "ant") close to its weight. A weight that several modules share becomes one table wherever it is held; an
    `nn.Linear` that shares it becomes the tied output layer `table.logits(h) + bias`. Device, dtype, training mode,
    frozen weights, padding and hooks carry over; other modules and tensors are not touched; where a table cannot be
    made, nothing is replaced. Tables that are compressed already, have fewer than `min_values` numbers or cannot be
    replaced faithfully stay, and the report says why. Optimisers made before hold the old tables: make them anew.

    `include` names the modules to compress, as `model.named_modules()` does, instead of all that are large enough;
    `counts` gives by such names the importance (V,) of ids, for methods that want it; `options` are those of the
    method's `from_pretrained`, for example `num_anchors=100` with `ratio=None`.

    >>> model = nn.Sequential(nn.Embedding(1000, 32), nn.Linear(32, 2))
    >>> report = compress_embeddings_(model, ratio=10)
    >>> report.values_before, report.values_after <= 3200, type(model[1]).__name__
    (32000, True, 'Linear')
    """
    table_class = find_table(ALIASES.get(method, method))
    if ratio is not None:
        options["ratio"] = check_real("ratio", ratio, at_least=1)
    check_int("min_values", min_values, at_least=0)
    places, found, compressed = _search(model)
    for argument, names in (("include", include or ()), ("counts", counts or ())):
        _check_names(argument, names, [*compressed, *(name for shared in found for name in shared.holders)])
    changes = [_kept_table(name, table) for name, table in compressed.items()]
    made: list[tuple[_Shared, EmbeddingTable]] = []
    for shared in found:
        reason = _reason_to_stay(shared, min_values, include)
        if reason is not None:
            changes.append(_kept_weight(shared, reason))
            continue
        given = [{"counts": counts[name]} for name in shared.holders if name in counts] if counts else []
        table = _make_table(table_class, shared, {**options, **(given[0] if given else {})})
        changes.append(_change(shared, table))
        made.append((shared, table))
    for shared, table in made:
        _replace(shared, table, places)
    return CompressionReport(tuple(changes))


def _search(model: nn.Module) -> tuple[dict[int, list[Place]], list[_Shared], dict[str, EmbeddingTable]]:
    """Return the places of every module by its id, the tables by weight, and those that are compressed already."""
    if isinstance(model, Lookup):
        raise ValueError(
            f"model must hold its tables in submodules, got an {type(model).__name__} itself; "
            "use AnchorEmbedding.from_embedding for one"
        )
    places: dict[int, list[Place]] = {}
    modules: dict[str, nn.Module] = {}
    _walk(model, "", places, modules)
    compressed = {name: module for name, module in modules.items() if isinstance(module, EmbeddingTable)}
    found: dict[int, _Shared] = {}
    for name, module in modules.items():
        if isinstance(module, Lookup):
            weight = module.weight
            found.setdefault(id(weight), _Shared(weight)).lookups[name] = module
    for name, module in modules.items():
        for parameter in module._parameters.values():
            shared = found.get(id(parameter))
            if shared is None or name in shared.lookups:
                continue
            if isinstance(module, nn.Linear) and parameter is module.weight:
                shared.outputs[name] = module
            else:
                shared.other = name
    if not found and not compressed:
        raise ValueError(f"model must have an nn.Embedding or nn.EmbeddingBag, got none in {type(model).__name__}")
    return places, list(found.values()), compressed


def _walk(parent: nn.Module, name: str, places: dict[int, list[Place]], modules: dict[str, nn.Module]) -> None:
    """Note `parent` and every module below it under its first name, and all its places; tables are not entered."""
    modules[name] = parent
    if isinstance(parent, EmbeddingTable):
        return
    for child_name, child in parent._modules.items():
        if child is None:
            continue
        is_new = id(child) not in places
        places.setdefault(id(child), []).append((parent, child_name))
        if is_new:
            _walk(child, f"{name}.{child_name}" if name else child_name, places, modules)


def _check_names(argument: str, names: Collection[str], known: list[str]) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(f"{argument} must name tables of the model, of {', '.join(known)}; got {unknown[0]!r}")


def _reason_to_stay(shared: _Shared, min_values: int, include: Collection[str] | None) -> str | None:
    """Return why a table is not replaced, or None."""
    if include is not None and not set(include) & set(shared.holders):
        return "not included"
    if include is None and shared.weight.numel() < min_values:
        return f"fewer than {min_values:,} numbers"
    if shared.other is not None:
        return f"{shared.other} holds its weight, too"
    for name, module in shared.holders.items():
        kind = next(kind for kind in (nn.Embedding, nn.EmbeddingBag, nn.Linear) if isinstance(module, kind))
        if type(module).forward is not kind.forward:
            return f"{name} has a forward of its own"
        if "weight" not in module._parameters:
            return f"the weight of {name} is computed"
        for option in ("max_norm", "scale_grad_by_freq"):
            if getattr(module, option, None):
                return f"{name} has {option}"
        if getattr(module, "mode", None) == "max":
            return f"{name} takes the maximum"
    hooked = [name for name, module in shared.lookups.items() if isinstance(module, nn.Embedding) and has_hooks(module)]
    # One table calls its hooks wherever it stands.
    return f"{' and '.join(hooked)} have hooks" if len(hooked) > 1 else None


def _make_table(table_class: type[EmbeddingTable], shared: _Shared, options: dict[str, Any]) -> EmbeddingTable:
    weight, first = shared.weight, next(iter(shared.lookups.values()))
    try:
        table = table_class.from_pretrained(weight.detach(), padding_idx=_padding_idx(shared), **options)
    except ValueError as error:
        raise ValueError(f"{next(iter(shared.lookups))} cannot be compressed: {error}") from error
    if isinstance(table, AnchorEmbedding) and "sparse" not in options:
        table.sparse = first.sparse  # whoever trains with dense gradients has an optimiser that wants them
    return table.requires_grad_(weight.requires_grad).train(first.training)


def _padding_idx(shared: _Shared) -> int | None:
    """Return the padding that all embeddings agree on, if it embeds to zero now: in a table it always does."""
    lookups = [module for module in shared.lookups.values() if isinstance(module, nn.Embedding)]
    agreed = {module.padding_idx for module in lookups}
    padding_idx = agreed.pop() if len(agreed) == 1 else None
    return None if padding_idx is None or bool(shared.weight[padding_idx].any()) else padding_idx


def _replace(shared: _Shared, table: EmbeddingTable, places: dict[int, list[Place]]) -> None:
    """Put the table, or what stands for a module that held it, wherever that module hangs."""
    table.to(device=shared.weight.device, dtype=shared.weight.dtype)
    for module in shared.holders.values():
        new = _replacement(module, table)
        take_hooks(new, module)
        for parent, name in places[id(module)]:
            parent.add_module(name, new)


def _replacement(module: Lookup | nn.Linear, table: EmbeddingTable) -> nn.Module:
    if isinstance(module, nn.Embedding):
        return table
    if isinstance(module, nn.Linear):
        return TiedLinear(table, module.bias).train(module.training)
    bag = TableBag(
        table, mode=module.mode, include_last_offset=module.include_last_offset, padding_idx=module.padding_idx
    )
    return bag.train(module.training)


def _change(shared: _Shared, table: EmbeddingTable) -> TableChange:
    weight = shared.weight
    return TableChange(
        names=tuple(shared.holders),
        shape=(weight.shape[0], weight.shape[1]),
        method=table.method,
        values_before=weight.numel(),
        values_after=table.num_values(),
        bytes_before=weight.nbytes,
        bytes_after=table.nbytes(),
        error=_relative_error(weight, table),
    )


def _kept_weight(shared: _Shared, reason: str) -> TableChange:
    weight, values, size = shared.weight, shared.weight.numel(), shared.weight.nbytes
    shape = (weight.shape[0], weight.shape[1])
    return TableChange(tuple(shared.holders), shape, "dense", values, values, size, size, stayed=reason)


def _kept_table(name: str, table: EmbeddingTable) -> TableChange:
    shape, values, size = (table.num_embeddings, table.embedding_dim), table.num_values(), table.nbytes()
    return TableChange((name,), shape, table.method, values, values, size, size, stayed="compressed already")


@torch.no_grad()
def _relative_error(weight: Tensor, table: EmbeddingTable) -> float:
    missed = total = 0.0
    for ids in torch.split(torch.arange(len(weight), device=weight.device), ROWS_AT_ONCE):
        vectors = weight[ids].float()
        missed += float((vectors - table(ids.to(table.device)).to(vectors)).square().sum())
        total += float(vectors.square().sum())
    return (missed / total) ** 0.5 if total else 0.0
