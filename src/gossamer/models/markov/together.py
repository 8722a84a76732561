"""What processes that have divided the series among them count together; where nobody divides them, one's own count.

`sharing` is None, or not divided, where this process holds all series.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from gossamer.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gossamer.models.markov.emissions import Emission
    from gossamer.models.markov.inputs import Batch
    from gossamer.training.sharing import Sharing


def add_up(values: np.ndarray, sharing: Sharing | None) -> np.ndarray:
    """Return the sum over processes of what each has counted."""
    return values if sharing is None else sharing.sum(values)


def largest(value: int, sharing: Sharing | None) -> int:
    """Return the largest of all processes' values."""
    return value if sharing is None else int(sharing.max(np.array([value]))[0])


def add_up_tensors(counts: Sequence[Tensor], sharing: Sharing | None) -> list[Tensor]:
    """Return the sums over processes of several tensors of doubles, in one exchange."""
    if sharing is None or not sharing.is_divided:
        return list(counts)
    flat = torch.from_numpy(sharing.sum(torch.cat([count.reshape(-1) for count in counts]).numpy()))
    parts = torch.split(flat, [count.numel() for count in counts])
    return [part.view(count.shape) for part, count in zip(parts, counts, strict=True)]


def moments(values: np.ndarray, sharing: Sharing | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of every column over all processes' rows, NaN left out.

    The mean goes round before the deviations from it are taken: sums of squares of far-away data would cancel.

    >>> moments(np.array([[1.0], [np.nan], [3.0]]))
    (array([2.]), array([1.]))
    """
    is_seen = ~np.isnan(values)
    counts = add_up(is_seen.sum(axis=0), sharing)
    mean = add_up(np.where(is_seen, values, 0.0).sum(axis=0), sharing) / counts
    deviations = np.where(is_seen, values - mean, 0.0)
    return mean, add_up(np.square(deviations).sum(axis=0), sharing) / counts


def agree_on_size(emission: Emission, batch: Batch, sharing: Sharing) -> int:
    """Return how many dimensions or categories the series of all processes have, or raise where these differ."""
    size = emission.size_of(batch.values, batch.vocabulary)
    if not sharing.is_divided:
        return size
    sharing.check_same("events or dimensions", Vocabulary([]) if batch.vocabulary is None else batch.vocabulary)
    most = largest(size, sharing)  # of numbered categories a process may have seen the first ones only
    if batch.values.ndim == 2 and size != most:
        raise ValueError(f"data must have the same dimensions on every process, got {size} here and {most} elsewhere")
    return most


def check_divided(random_state: int | None, sharing: Sharing) -> None:
    """Refuse divided series without a seed: every process would draw a start of its own."""
    if sharing.is_divided and random_state is None:
        raise ValueError("random_state must be a number where processes divide the series, got None")
