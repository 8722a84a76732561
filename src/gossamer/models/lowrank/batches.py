"""The user's data as numbered batches: read once, kept, the same number always the same batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor, nn

Batch = tuple[tuple[Any, ...], Any]  # what the model is called with, and the target


class BatchSource:
    """Batches by number; data that can be read again are read again when they end.

    Data are an iterable of (inputs, target) pairs, inputs one tensor or a tuple of the model's arguments, or of inputs
    alone where nothing needs targets.
    """

    def __init__(self, data: Iterable[Any], *, needs_targets: bool) -> None:
        check_data(data)
        self._data = data
        self._needs_targets = needs_targets
        self._iterator: Iterator[Any] = iter(data)
        self._is_one_shot = self._iterator is data
        self._kept: list[Batch] = []
        self._has_ended = False

    def __getitem__(self, number: int) -> Batch:
        """Return batch `number`, from the beginning again after the last."""
        while number >= len(self._kept) and not self._has_ended:
            try:
                self._kept.append(divided(next(self._iterator), needs_targets=self._needs_targets))
            except StopIteration:
                self._has_ended = True
        if not self._kept:
            raise ValueError("data must have at least one batch, got none")
        if number >= len(self._kept) and self._is_one_shot:
            raise ValueError(
                f"data must have {number + 1} batches, got {len(self._kept)} before it ended; pass a list or a "
                "DataLoader, which can be read again, or ask for fewer iterations"
            )
        return self._kept[number % len(self._kept)]

    def first(self, count: int) -> list[Batch]:
        """Return up to `count` different batches, fewer where data have fewer."""
        found = [self[0]]
        for number in range(1, count):
            try:
                batch = self[number]
            except ValueError:
                break
            if self._has_ended and number >= len(self._kept):
                break
            found.append(batch)
        return found


def check_data(data: object) -> None:
    """Refuse what cannot be read batch by batch."""
    if not isinstance(data, Iterable) or isinstance(data, str | Tensor | nn.Module):
        raise ValueError(f"data must be an iterable of (inputs, target) batches, got {type(data).__name__}")


def divided(batch: Any, *, needs_targets: bool) -> Batch:
    """Return a user's batch as the model's arguments and the target, which is None where a batch is inputs alone."""
    if isinstance(batch, tuple | list) and len(batch) == 2:
        inputs, target = batch
    elif needs_targets:
        shown = f"{type(batch).__name__} of {len(batch)}" if isinstance(batch, tuple | list) else type(batch).__name__
        raise ValueError(f"data must be pairs (inputs, target) for a loss to be computed, got a {shown}")
    else:
        inputs, target = batch, None
    return (tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)), target


def counted_batch(source: BatchSource, example: Any) -> Batch:
    """Return the batch that costs are counted and times are measured on: `example`'s inputs, or the first of the data.

    >>> import torch
    >>> source = BatchSource([torch.zeros(8, 3)], needs_targets=False)
    >>> num_rows(counted_batch(source, None)), num_rows(counted_batch(source, torch.zeros(1, 3)))
    (8, 1)
    """
    return source[0] if example is None else inputs_alone(example)


def inputs_alone(example: Any) -> Batch:
    """Return the inputs of one call as a batch without a target; inputs without a tensor are refused."""
    batch = (tuple(example) if isinstance(example, tuple | list) else (example,)), None
    num_rows(batch, "example")
    return batch


def num_rows(batch: Batch, name: str = "data") -> int:
    """Return the number of examples: the length of the first tensor's first axis."""
    for part in batch[0]:
        for tensor in part.values() if isinstance(part, Mapping) else [part]:
            if isinstance(tensor, Tensor) and tensor.dim() > 0:
                return int(tensor.shape[0])
    raise ValueError(f"{name} must have a tensor among the inputs, got {[type(part).__name__ for part in batch[0]]}")
