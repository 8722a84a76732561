"""The slots of a batch: what an anchor table reads of T for some ids, in one pass where that is possible."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gossamer.core.rows import look_up, take_rows
from gossamer.models.embeddings.slot_kernels import copy_slots

_COMPILED_FOR = (torch.float32, torch.float64)


def look_up_slots(
    slots: Int[Tensor, "V S"], values: Float[Tensor, "V S"], ids: Int[Tensor, " B"], *, sparse: bool
) -> tuple[Int[Tensor, "B S"], Float[Tensor, "B S"]]:
    """Return slots[ids] and, differentiably, values[ids]; with `sparse` the gradient of values is of rows.

    At millions of rows of a few numbers each, waiting for memory is nearly all there is to do: a compiled loop waits
    for many rows at once, where torch copies row by row.
    """
    if not sparse:
        return take_rows(slots, ids), functional.embedding(ids, values)
    if not _is_plain(slots, values, ids):
        return take_rows(slots, ids), look_up(values, ids)
    taken: tuple[Tensor, Tensor] = _LookUpSlots.apply(values, slots, ids)  # type: ignore[no-untyped-call]
    return taken


def _is_plain(slots: Tensor, values: Tensor, ids: Tensor) -> bool:
    """Say whether compiled code may read these: numbers in the CPU's memory, and nobody tracing torch's calls."""
    if torch.compiler.is_compiling() or values.dtype not in _COMPILED_FOR:
        return False
    if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        return False
    return all(
        type(tensor.data) is Tensor and tensor.device.type == "cpu" and tensor.is_contiguous()
        for tensor in (slots, values, ids)
    )


class _LookUpSlots(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, values: Tensor, slots: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        context.save_for_backward(ids)
        context.shape = values.shape
        near_slots = slots.new_empty(len(ids), slots.shape[1], dtype=torch.int32)  # what embedding_bag reads
        near_values = values.new_empty(len(ids), slots.shape[1])
        tensors = (ids, slots, values.detach(), near_slots, near_values)
        copy_slots(*(tensor.numpy() for tensor in tensors))
        context.mark_non_differentiable(near_slots)
        return near_slots, near_values

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, _: Tensor, gradient: Tensor) -> tuple[Tensor, None, None]:
        (ids,) = context.saved_tensors
        rows = torch.sparse_coo_tensor(ids.unsqueeze(0), gradient, context.shape, check_invariants=False)
        return rows, None, None
