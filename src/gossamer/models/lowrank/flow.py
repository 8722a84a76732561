"""How tensors pass through a network on an example: every call, who uses what comes out, and whose weights go in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from gossamer.models.lowrank.batches import Batch
from gossamer.models.lowrank.counting import evaluating

ANSWER = -1  # the user of what a network returns


class Flow(TorchFunctionMode):
    """Every call with tensors: what it was, what went in, what came out; kept alive, so that identities stay unique."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, list[Tensor], Any]] = []
        self._users: dict[int, list[int]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        if tensors_of(output):
            inputs = tensors_of([args, kwargs or {}])
            for tensor in {id(tensor): tensor for tensor in inputs if tensor is not output}.values():
                self._users.setdefault(id(tensor), []).append(len(self.calls))
            self.calls.append((func, inputs, output))
        return output

    def end(self, answer: Any) -> None:
        """Take note of what the network returns, which has the user `ANSWER`."""
        for tensor in tensors_of(answer):
            self._users.setdefault(id(tensor), []).append(ANSWER)

    def users(self, tensor: Tensor) -> list[int]:
        """Return the numbers of the calls that a tensor goes into."""
        return self._users.get(id(tensor), [])


@torch.no_grad()
def watch_flow(model: nn.Module, example: Batch) -> Flow:
    """Return what a model does with the example, in evaluation."""
    flow = Flow()
    with evaluating(model), flow:
        answer = model(*example[0])
    flow.end(answer)
    return flow


def owners_of(model: nn.Module) -> dict[int, tuple[str, nn.Module]]:
    """Return who holds each weight and each running mean, by its identity; what two modules hold has no owner."""
    found: dict[int, tuple[str, nn.Module]] = {}
    shared = set()
    for name, module in model.named_modules():
        # Not getattr: a weight that is computed anew whenever it is asked for is nobody's.
        for tensor in (module._parameters.get("weight"), module._buffers.get("running_mean")):
            if tensor is not None:
                shared |= {id(tensor)} & set(found)
                found[id(tensor)] = (name, module)
    return {key: owner for key, owner in found.items() if key not in shared}


def owner_of(inputs: Sequence[Tensor], owners: dict[int, tuple[str, nn.Module]]) -> tuple[str, nn.Module | None]:
    """Return the name and the module of the first tensor that has an owner."""
    for tensor in inputs:
        if id(tensor) in owners:
            return owners[id(tensor)]
    return "", None


def tensors_of(value: Any) -> list[Tensor]:
    """Return all tensors in tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        return [value]
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple | list) else ()
    return [tensor for part in parts for tensor in tensors_of(part)]
