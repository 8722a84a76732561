"""Whether a network and its data can be compressed at all, found out before any work, on copies of both."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor, nn

from gossamer.core.checks import check_bool, check_choice, check_int
from gossamer.models.lowrank.attempts import ALLOCATORS
from gossamer.models.lowrank.batches import Batch, num_rows
from gossamer.models.lowrank.budget import check_budget
from gossamer.models.lowrank.counting import batch_norms, evaluating
from gossamer.models.lowrank.flow import tensors_of
from gossamer.models.lowrank.folding import check_fold
from gossamer.models.lowrank.search import SearchSettings
from gossamer.models.lowrank.sites import check_pattern_list


def check_arguments(
    model: object,
    budget: object,
    loss: object,
    allocator: str,
    fitted: bool,
    recalibrate: bool,
    fold: bool | str,
    calibration_batches: int,
    search: object,
    keep: object,
    only: object,
) -> None:
    """Check what `compress` and `prune` are both given."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be an nn.Module, got {type(model).__name__}")
    check_budget(budget)
    check_choice("allocator", allocator, ALLOCATORS)
    check_bool("fitted", fitted)
    check_bool("recalibrate", recalibrate)
    check_fold(fold)
    check_int("calibration_batches", calibration_batches, at_least=1)
    check_pattern_list("keep", keep)
    if only is not None:
        check_pattern_list("only", only)
    if search is not None and not isinstance(search, SearchSettings):
        raise ValueError(f"search must be SearchSettings, got {search!r}")
    if loss is not None and not callable(loss):
        raise ValueError(f"loss must be a function of (output, target), or None for the model's answers, got {loss!r}")
    if torch.is_inference_mode_enabled():
        raise ValueError("compression needs gradients, got torch.inference_mode(); call it outside of that")


def copy_of(model: nn.Module) -> nn.Module:
    """Return a copy that can be worked on, or say why there is none."""
    try:
        return copy.deepcopy(model)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"model must be one that copy.deepcopy can copy, got: {error}; weight_norm and spectral_norm of "
            "torch.nn.utils.parametrizations can be copied, those of torch.nn.utils cannot"
        ) from error


@torch.no_grad()
def check_model(model: nn.Module) -> None:
    """Refuse weights that no rank can stand for; `model` has worked once, so that lazy layers know their shapes."""
    for name, parameter in model.named_parameters():
        if parameter.is_meta:
            raise ValueError(f"model must have its weights, got {name} on the meta device")
        if not torch.isfinite(parameter).all():
            raise ValueError(f"weights of the model must be finite, got NaN or infinity in {name}")


@torch.no_grad()
def check_pass(model: nn.Module, example: Batch, name: str = "data") -> None:
    """Let a model, which may be a copy, work on a copy of the example, and say what is wrong where it cannot.

    A model that changes its inputs in place would change the user's data, and see others at every pass.
    """
    if num_rows(example, name) == 0:
        raise ValueError(f"{name} must have at least one row in a batch, got a first one with none")
    inputs = copy.deepcopy(example[0])
    before = [tensor._version for tensor in tensors_of(inputs)]
    try:
        with evaluating(model):
            model(*inputs)
    except Exception as error:  # whatever a forward of somebody else's may raise
        shown = ", ".join(_shown(part) for part in example[0])
        raise ValueError(
            f"{name} must be batches that the model can work on, (inputs, target) or inputs alone, got inputs {shown} "
            f"and from the model {type(error).__name__}: {error}"
        ) from error
    if before != [tensor._version for tensor in tensors_of(inputs)]:
        raise ValueError(
            f"model must not change its inputs in place, got one that does; copy them in its forward: every pass over "
            f"{name} would see others"
        )


def return_buffers_(network: nn.Module, model: nn.Module, *, except_norms: bool) -> None:
    """Give a network the buffers of the model that it came from: passes over data leave no trace of their own.

    `except_norms` leaves batch norms their statistics, which are new. Buffers of other shapes stay, too.
    """
    norms = {id(buffer) for norm in batch_norms(network) for buffer in norm.buffers()} if except_norms else set()
    originals = dict(model.named_buffers())
    for name, buffer in network.named_buffers():
        original = originals.get(name)
        if original is not None and original.shape == buffer.shape and id(buffer) not in norms:
            buffer.copy_(original)


def _shown(part: Any) -> str:
    if isinstance(part, Tensor):
        return f"{str(part.dtype).removeprefix('torch.')}{tuple(part.shape)}"
    return f"{type(part).__name__} of {len(part)}" if isinstance(part, Collection) else type(part).__name__
