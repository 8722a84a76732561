"""What a model needs to know of training data of which this process may hold a share only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

from gossamer.core.randomness import RandomState
from gossamer.data.batching import Batches, ShareBatches
from gossamer.data.content import fingerprint
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.training.devices import gather_from_all, make_fabric

if TYPE_CHECKING:
    from lightning_fabric import Fabric

B = TypeVar("B")
C = TypeVar("C")


class Sharing:
    """Sums and means over all rows, and batches of them, where processes have divided the rows among them.

    Where every process holds all rows (`is_divided` false), sums and means are those of this process.
    """

    def __init__(self, is_divided: bool) -> None:
        self._fabric: Fabric | None = make_fabric() if is_divided else None

    @property
    def is_divided(self) -> bool:
        """Whether this process holds a share only."""
        return self._fabric is not None

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over processes, in the type of `values`; equal on all of them."""
        if self._fabric is None or self._fabric.world_size == 1:
            return values
        summed = torch.from_numpy(np.array(values))
        torch.distributed.all_reduce(summed)
        return summed.numpy()

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the greatest of all processes' values, in the type of `values`; equal on all of them."""
        if self._fabric is None or self._fabric.world_size == 1:
            return values
        greatest = torch.from_numpy(np.array(values))
        torch.distributed.all_reduce(greatest, torch.distributed.ReduceOp.MAX)
        return greatest.numpy()

    def gather(self, values: np.ndarray) -> np.ndarray:
        """Return the rows of all processes' arrays, one process after the other; for what is small beside the data."""
        return values if self._fabric is None else np.concatenate(gather_from_all(values, self._fabric))

    def num_rows(self, rows: Sized) -> int:
        """Return how many rows all processes hold together."""
        return int(self.sum(np.array([len(rows)]))[0])

    def mean(self, values: Mapping[str, float] | None, weight: float) -> dict[str, float]:
        """Return means over all rows from the means over this process's, which count by their `weight`.

        A process without rows has None to give, and weight 0. Where no process has any, nothing is returned.
        """
        if self._fabric is None:
            return dict(values or {})
        given = gather_from_all((values, weight), self._fabric)
        counted = [(dict(means), count) for means, count in given if means is not None and count > 0]
        total = sum(count for _, count in counted)
        names = counted[0][0] if counted else {}
        return {name: sum(means[name] * count for means, count in counted) / total for name in names}

    def mean_array(self, values: np.ndarray, weight: float) -> np.ndarray:
        """Return the mean of the processes' arrays, by their weights, in the type of `values`."""
        if self._fabric is None:
            return values
        total = self.sum(np.array([weight], dtype=np.float64))
        mean: np.ndarray = (self.sum(values.astype(np.float64) * weight) / total).astype(values.dtype)
        return mean

    def measure(self, evaluate: Callable[[C], Mapping[str, float]], rows: C, weight: int) -> dict[str, float]:
        """Return what `evaluate` says of all rows, from what it says of each process's; one without any is not asked.

        Where every process holds all rows, there are some: `evaluate` says itself what is wrong with none.
        """
        return self.mean(evaluate(rows) if weight or not self.is_divided else None, weight)

    def batches(
        self, collate: Callable[[np.ndarray], B], num_rows: int, batch_size: int, random_state: RandomState
    ) -> Batches[B]:
        """Return batches of the `num_rows` rows that this process holds, together with all others."""
        if self._fabric is None:
            return Batches(collate, num_rows, batch_size, random_state=random_state)
        shares = gather_from_all(num_rows, self._fabric)
        return ShareBatches(collate, shares, batch_size, random_state=random_state)

    def check_same(self, name: str, ids: Vocabulary) -> None:
        """Refuse shares whose columns are not the same."""
        if self._fabric is None:
            return
        found = gather_from_all((len(ids), fingerprint(ids)), self._fabric)
        if len(set(found)) > 1:
            sizes = [size for size, _ in found]
            raise ValueError(f"{name} must be the same ids on every process (merge_ids), got {sizes} that differ")


def rows_of(data: C | Share[C]) -> tuple[C, Sharing]:
    """Return what this process holds of `data`, and how the rest is to be had."""
    if isinstance(data, Share):
        return data.rows, Sharing(is_divided=True)
    return data, Sharing(is_divided=False)
