"""Batch norms become part of the layer before them: the same answers, one pass over the data less for each.

For a network that will only answer: one that is trained on wants its batch norms.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from gossamer.models.lowrank.assembly import replace_module_
from gossamer.models.lowrank.batches import Batch
from gossamer.models.lowrank.counting import count_bytes, count_params
from gossamer.models.lowrank.flow import Flow, owner_of, owners_of, watch_flow
from gossamer.models.lowrank.sites import Convolution

Folded = tuple[str, str]  # the names of a layer and of the batch norm that became part of it
LATER = "later"  # a network that is promised the time of a folded one, and trained on before it is folded
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)


def check_fold(fold: object) -> bool | str:
    """Return whether batch norms become part of the layers before them, now or later, checked.

    >>> check_fold(LATER), check_fold(True)
    ('later', True)
    """
    if not isinstance(fold, bool) and fold != LATER:
        raise ValueError(f"fold must be True, False or {LATER!r}, got {fold!r}")
    return fold


def folded_copy(model: nn.Module, example: Batch) -> nn.Module:
    """Return a copy of a model with its batch norms folded."""
    copied = copy.deepcopy(model)
    fold_norms_(copied, example)
    return copied


def fold_and_count_(model: nn.Module, example: Batch, costs: dict[str, float]) -> tuple[Folded, ...]:
    """Fold as `fold_norms_` does, and count anew in `costs` what is stored afterwards."""
    folded = fold_norms_(model, example)
    costs.update(params=float(count_params(model)), bytes=float(count_bytes(model)))
    return folded


@torch.no_grad()
def fold_norms_(model: nn.Module, example: Batch) -> tuple[Folded, ...]:
    """Fold every batch norm that follows directly on a convolution or linear layer, and return the names of both.

    Nothing else may see what the layer gives, neither layer nor norm may be used twice, and the norm must go by running
    statistics. Where it stood is an `nn.Identity`.

    >>> model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()).eval()
    >>> inputs = torch.randn(5, 3)
    >>> before = model(inputs)
    >>> fold_norms_(model, ((inputs,), None)), torch.allclose(model(inputs), before, atol=1e-6)
    ((('0', '1'),), True)
    """
    flow, owners = watch_flow(model, example), owners_of(model)
    makers = {id(output): number for number, (*_, output) in enumerate(flow.calls)}
    folded = []
    for func, inputs, _ in flow.calls:
        name, norm = owner_of(inputs, owners)
        if func is not functional.batch_norm or not isinstance(norm, _NORMS) or not _is_used_once(flow, norm):
            continue
        maker = makers.get(id(inputs[0]))
        if maker is None or len(flow.users(inputs[0])) != 1:
            continue
        host, layer = owner_of(flow.calls[maker][1], owners)
        if _can_take(layer, inputs[0].dim()) and _is_used_once(flow, layer):
            _fold_(layer, norm)
            replace_module_(model, norm, nn.Identity())
            folded.append((host, name))
    return tuple(folded)


def fold_like_(model: nn.Module, folded: Sequence[Folded]) -> nn.Module:
    """Take the batch norms out of a network as `fold_norms_` did in one like it, zeros for biases, and return it."""
    found = dict(model.named_modules())
    for host, name in folded:
        layer, norm = found.get(host), found.get(name)
        if not isinstance(layer, Convolution | nn.Linear) or not isinstance(norm, _NORMS):
            raise ValueError(f"folded must name a layer and a batch norm of the network, got {host!r} and {name!r}")
        if layer.bias is None:
            layer.bias = nn.Parameter(layer.weight.new_zeros(len(layer.weight)))
        replace_module_(model, norm, nn.Identity())
    return model


def _can_take(layer: nn.Module | None, dim: int) -> bool:
    """Say whether a layer's outputs are the channels of the norm: of a linear layer, only where there is one axis."""
    is_plain = type(layer) in (nn.Conv1d, nn.Conv2d, nn.Linear)
    return is_plain and (dim == 2 or not isinstance(layer, nn.Linear))


def _is_used_once(flow: Flow, module: Any) -> bool:
    mark = module.running_mean if isinstance(module, _NORMS) else module.weight
    return mark is not None and len(flow.users(mark)) == 1


def _fold_(layer: Any, norm: Any) -> None:
    """Set W ← s W and b ← s (b − μ) + β, with s = γ / √(σ² + ε) per output."""
    scale = torch.rsqrt(norm.running_var + norm.eps) * (1 if norm.weight is None else norm.weight)
    shift = (0 if layer.bias is None else layer.bias) - norm.running_mean
    bias = scale * shift + (0 if norm.bias is None else norm.bias)
    weight = layer.weight * scale.reshape(-1, *[1] * (layer.weight.dim() - 1))
    wanted = layer.weight.requires_grad
    layer.weight, layer.bias = (nn.Parameter(part.detach(), requires_grad=wanted) for part in (weight, bias))
