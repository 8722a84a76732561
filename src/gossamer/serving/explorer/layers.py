"""The inside of a model as a list of layers: names, kinds, shapes, numbers, bytes, and pairs that stand for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor, nn

from gossamer.models.lowrank.module import LowRankConvolution, LowRankEmbedding, LowRankLinear

PAIRS = (LowRankLinear, LowRankConvolution, LowRankEmbedding)


@dataclass(frozen=True)
class Weight:
    """One stored array of a layer."""

    name: str
    shape: list[int]
    dtype: str
    values: int
    bytes: int


@dataclass(frozen=True)
class Layer:
    """One layer: `part` is the branch of the network it is in, `flow` what goes in and comes out.

    `rank` says how much a factorised pair keeps ("16 of 64"); `before` is how many values it stands for.
    """

    name: str
    part: str
    kind: str
    flow: str
    weights: list[Weight]
    values: int
    bytes: int
    share: float
    attributes: dict[str, str] = field(default_factory=dict)
    rank: str | None = None
    before: int | None = None


@dataclass(frozen=True)
class Inside:
    """All layers in the order in which they are written down, and what they were made from."""

    title: str
    is_network: bool
    layers: list[Layer]
    values: int
    bytes: int
    before: int | None
    note: str


def look_inside(estimator: Any) -> Inside:
    """Return the layers of a model's network, or where it has none the arrays that it stores."""
    network = getattr(estimator, "network_", None)
    report = getattr(estimator, "report_", None)
    if not isinstance(network, nn.Module):
        layers = [_array_layer(name, array) for name, array in estimator.learned_arrays().items()]
        note = "No network: these are the arrays that the model stores."
        return _finished(type(estimator).__name__, False, layers, None, note)
    ranks = {} if report is None else {name: change for change in report.layers for name in change.names}
    seen: set[int] = set()
    layers = [_module_layer(name, module, ranks.get(name), seen) for name, module in units(network)]
    before = None if report is None else int(report.before["params"])
    kept = (
        "" if report is None else f"Compressed by {report.allocator}: {report.share('params'):.1%} of parameters left."
    )
    return _finished(type(network).__name__, True, layers, before, kept)


def units(network: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield what is one layer to a reader: factorised pairs whole, modules with weights of their own, and leaves."""
    # Factorised pairs are walked through whole, so what is inside them is passed over.
    inside_pair: tuple[str, ...] = ()
    for name, module in network.named_modules():
        if inside_pair and name.startswith(inside_pair):
            continue
        if isinstance(module, PAIRS):
            inside_pair = (f"{name}.",)
            yield name, module
        elif _own_tensors(module) or _is_leaf(module):
            yield name or "network", module


def _own_tensors(module: nn.Module) -> bool:
    return any(True for _ in module.parameters(recurse=False)) or any(True for _ in module.buffers(recurse=False))


def _is_leaf(module: nn.Module) -> bool:
    """Say whether a module is a step without weights, such as an activation; empty lists of modules are nothing."""
    return next(module.children(), None) is None and not isinstance(
        module, nn.ModuleList | nn.Sequential | nn.ModuleDict
    )


def _module_layer(name: str, module: nn.Module, change: Any, seen: set[int]) -> Layer:
    weights = []
    for weight_name, tensor in layer_tensors(module):
        if id(tensor) in seen:  # a tied weight is stored once
            continue
        seen.add(id(tensor))
        weights.append(
            Weight(
                weight_name, list(tensor.shape), str(tensor.dtype).removeprefix("torch."), tensor.numel(), tensor.nbytes
            )
        )
    rank, before = None, None
    if change is not None and change.rank is not None:
        rank, before = f"{change.rank} of {change.full_rank}", int(change.params_before)
    return Layer(
        name=name,
        part=name.split(".")[0] if "." in name else "",
        kind=type(module).__name__,
        flow=_flow(module, weights),
        weights=weights,
        values=sum(weight.values for weight in weights),
        bytes=sum(weight.bytes for weight in weights),
        share=0.0,
        attributes=_attributes(module),
        rank=rank,
        before=before,
    )


def layer_tensors(module: nn.Module) -> list[tuple[str, Tensor]]:
    """Return what a layer of `units` stores: parameters, then buffers that are saved; of a pair those of both."""
    is_pair = isinstance(module, PAIRS)
    stored = module.state_dict()
    buffers = [(key, value) for key, value in module.named_buffers(recurse=is_pair) if key in stored]
    return [*module.named_parameters(recurse=is_pair), *buffers]


def _attributes(module: nn.Module) -> dict[str, str]:
    """Return the settings of a module: what it keeps beside weights and is a number, a word or a few of them.

    >>> _attributes(nn.LeakyReLU(0.1))
    {'negative_slope': '0.1', 'inplace': 'False'}
    """
    simple = (bool, int, float, str)
    return {
        name: str(value)
        for name, value in vars(module).items()
        if not name.startswith("_")
        and name != "training"
        and (isinstance(value, simple) or (isinstance(value, tuple) and all(isinstance(one, simple) for one in value)))
    }


def _flow(module: nn.Module, weights: list[Weight]) -> str:
    """Return what goes in and comes out, as far as a module says."""
    for first, second in (
        ("in_features", "out_features"),
        ("num_embeddings", "embedding_dim"),
        ("in_channels", "out_channels"),
        ("input_size", "hidden_size"),
    ):
        if hasattr(module, first) and hasattr(module, second):
            rank = f" → {module.rank}" if isinstance(module, LowRankLinear) else ""
            return f"{getattr(module, first):,}{rank} → {getattr(module, second):,}"
    return " + ".join("×".join(map(str, weight.shape)) for weight in weights)


def _array_layer(name: str, array: np.ndarray) -> Layer:
    weight = Weight(name, list(array.shape), str(array.dtype), int(array.size), int(array.nbytes))
    shape = "×".join(f"{size:,}" for size in array.shape) or "one number"
    part = name.split(".")[0] if "." in name else ""
    return Layer(name, part, f"array of {array.dtype}", shape, [weight], int(array.size), int(array.nbytes), 0.0)


def _finished(title: str, is_network: bool, layers: list[Layer], before: int | None, note: str) -> Inside:
    values, num_bytes = sum(layer.values for layer in layers), sum(layer.bytes for layer in layers)
    shared = [Layer(**{**vars(layer), "share": layer.bytes / num_bytes if num_bytes else 0.0}) for layer in layers]
    return Inside(title, is_network, shared, values, num_bytes, before, note)
