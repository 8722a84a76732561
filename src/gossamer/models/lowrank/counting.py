"""What a network costs on a real input: multiply-adds by torch's own counter, stored numbers, and bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from gossamer.models.lowrank.batches import Batch
from gossamer.models.lowrank.observing import Call, WatchNorms, WatchWeights, use_of
from gossamer.models.lowrank.sites import Site


@torch.no_grad()
def count_macs(model: nn.Module, batch: Batch) -> int:
    """Return the multiply-adds of one pass over a batch: half of what torch's FLOP counter counts.

    >>> count_macs(nn.Linear(8, 4), ((torch.zeros(3, 8),), None))
    96
    """
    counter = FlopCounterMode(display=False)
    with evaluating(model), _without_fast_path(), counter:
        model(*batch[0])
    return int(counter.get_total_flops()) // 2


def count_params(model: nn.Module) -> int:
    """Return how many numbers a model stores as parameters, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


def count_bytes(model: nn.Module) -> int:
    """Return the bytes of parameters and buffers, shared ones once."""
    return sum(tensor.nbytes for tensor in [*model.parameters(), *model.buffers()])


def count_costs(model: nn.Module, example: Batch) -> dict[str, float]:
    """Return what can be counted of a model's costs; multiply-adds are those of the whole batch."""
    counted = {"macs": count_macs(model, example), "params": count_params(model), "bytes": count_bytes(model)}
    return {name: float(value) for name, value in counted.items()}


@torch.no_grad()
def observe_uses(model: nn.Module, sites: Iterable[Site], batch: Batch) -> list[Call]:
    """Note in every site how its weight is used on the batch, and return the calls in their order."""
    sites = list(sites)
    calls: list[Call] = []
    with evaluating(model), WatchWeights(sites, calls.append), WatchNorms() as norms:
        model(*batch[0])
    normalised = {id(tensor) for tensor in norms.inputs}
    for site in sites:
        own = [call for call in calls if call.site is site]
        site.uses = [use_of(call) for call in own]
        site.is_normalised = bool(own) and all(id(call.output) in normalised for call in own)
        if not site.uses and site.stays is None:
            site.stays = "is not used in a forward pass"
    return calls


@torch.no_grad()
def check_replaced(model: nn.Module, replaced: Iterable[Site], example: Batch) -> None:
    """Refuse a network that still works with the weights of layers that were replaced, or cannot work without them.

    A layer that is also kept in a list of Python's, for one, is called from there.
    """
    used: list[str] = []
    try:
        with evaluating(model), WatchWeights(replaced, lambda call: used.append(call.site.name)):
            model(*example[0])
    except (AttributeError, TypeError) as error:
        raise ValueError(
            f"model must not ask a layer for more than its answer, got {type(error).__name__}: {error}; name the layer "
            "in keep"
        ) from error
    if used:
        raise ValueError(
            f"model must call {used[0]} as a module of its own, got one that uses its weight elsewhere, such as in a "
            "list or a function; name that layer in keep"
        )


@contextlib.contextmanager
def evaluating(model: nn.Module, *, batch_statistics: bool = False) -> Iterator[None]:
    """Set a model to evaluation for the block; with `batch_statistics` batch norms take those of each batch."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    if batch_statistics:
        for norm in batch_norms(model):
            norm.train()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def batch_norms(model: nn.Module) -> list[nn.modules.batchnorm._BatchNorm]:
    """Return the batch norms that keep running statistics."""
    return [
        module
        for module in model.modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None
    ]


@contextlib.contextmanager
def _without_fast_path() -> Iterator[None]:
    """Keep transformers from a fused kernel that the counter cannot look into."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
