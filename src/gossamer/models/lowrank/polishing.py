"""The last step of the search: the masks of the kept triplets, adjusted to each other while no budget is involved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

# (masks of all kept triplets, number of the batch) → their gradient on that batch
Gradient = Callable[[np.ndarray, int], np.ndarray]

UPPER = 2.0  # a kept triplet may stand in for its dropped neighbours
RATE = 0.03
DECAY, SQUARE_DECAY = 0.9, 0.98


def polish_masks(gradient: Gradient, start: Float[np.ndarray, " n"], numbers: Sequence[int]) -> Float[np.ndarray, " n"]:
    """Return masks in [0, 2] after one step of Adam per batch number, at a rate that falls to nothing (cosine).

    Without budgets there is nothing left for an SQP to solve, and a step that asks for one gradient instead of two or
    more sees twice as many batches in the same time.

    >>> pulled = polish_masks(lambda masks, number: masks - np.array([1.2, 0.7]), np.ones(2), range(60))
    >>> pulled.round(1).tolist()
    [1.2, 0.7]
    """
    masks = np.asarray(start, dtype=np.float64).copy()
    mean, square = np.zeros_like(masks), np.zeros_like(masks)
    for step, number in enumerate(numbers):
        slope = gradient(masks, number)
        mean = DECAY * mean + (1 - DECAY) * slope
        square = SQUARE_DECAY * square + (1 - SQUARE_DECAY) * slope**2
        rate = RATE * (1 + np.cos(np.pi * step / len(numbers))) / 2
        unbiased = mean / (1 - DECAY ** (step + 1))
        scale = np.sqrt(square / (1 - SQUARE_DECAY ** (step + 1)))
        masks = np.clip(masks - rate * unbiased / np.maximum(scale, np.finfo(float).tiny), 0, UPPER)
    return masks
