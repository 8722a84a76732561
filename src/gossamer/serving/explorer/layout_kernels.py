"""The compiled loop of the neighbour layout."""

from __future__ import annotations

import numba
import numpy as np

NUM_REPELLED = 4
CLIP = 4.0
GRAVITY = 0.02
# Knuth's linear congruential generator: a layout needs cheap numbers, not good ones, and the same ones every time.
MULTIPLIER, STEP = np.uint64(6364136223846793005), np.uint64(1442695040888963407)


@numba.njit(cache=True)
def _clipped(value: float) -> float:
    return min(CLIP, max(-CLIP, value))


@numba.njit(cache=True)
def settle(places: np.ndarray, neighbours: np.ndarray, epochs: int, seed: int) -> None:
    """Move `places` (V, 2) in the gradient of log q over neighbours and log(1 − q) over others, q = 1 / (1 + d²)."""
    state = np.uint64(seed)
    count, width = neighbours.shape
    for epoch in range(epochs):
        rate = 1.0 - epoch / epochs
        for i in range(count):
            # A little gravity, without which parts that share no neighbours drift out of the page.
            places[i, 0] -= GRAVITY * rate * places[i, 0]
            places[i, 1] -= GRAVITY * rate * places[i, 1]
            for slot in range(width):
                j = neighbours[i, slot]
                if j < 0:
                    continue
                dx, dy = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
                pull = -2.0 / (1.0 + dx * dx + dy * dy) * rate
                places[i, 0] += _clipped(pull * dx)
                places[i, 1] += _clipped(pull * dy)
                places[j, 0] -= _clipped(pull * dx)
                places[j, 1] -= _clipped(pull * dy)
                for _ in range(NUM_REPELLED):
                    state = state * MULTIPLIER + STEP
                    other = np.int64((state >> np.uint64(33)) % np.uint64(count))
                    if other == i:
                        continue
                    dx, dy = places[i, 0] - places[other, 0], places[i, 1] - places[other, 1]
                    squared = dx * dx + dy * dy
                    push = 2.0 / ((0.01 + squared) * (1.0 + squared)) * rate
                    places[i, 0] += _clipped(push * dx)
                    places[i, 1] += _clipped(push * dy)
