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
def _squared(places: np.ndarray, one: np.integer | int, other: np.integer | int) -> float:
    total = 0.0
    for axis in range(places.shape[1]):
        total += (places[one, axis] - places[other, axis]) ** 2
    return total


@numba.njit(cache=True)
def settle(places: np.ndarray, neighbours: np.ndarray, epochs: int, seed: int) -> None:
    """Move `places` (V, D) in the gradient of log q over neighbours and log(1 − q) over others, q = 1 / (1 + d²)."""
    state = np.uint64(seed)
    count, width = neighbours.shape
    axes = places.shape[1]
    for epoch in range(epochs):
        rate = 1.0 - epoch / epochs
        for i in range(count):
            # A little gravity, without which parts that share no neighbours drift out of the page.
            for axis in range(axes):
                places[i, axis] -= GRAVITY * rate * places[i, axis]
            for slot in range(width):
                j = neighbours[i, slot]
                if j < 0:
                    continue
                pull = -2.0 / (1.0 + _squared(places, i, j)) * rate
                for axis in range(axes):
                    step = _clipped(pull * (places[i, axis] - places[j, axis]))
                    places[i, axis] += step
                    places[j, axis] -= step
                for _ in range(NUM_REPELLED):
                    state = state * MULTIPLIER + STEP
                    other = np.int64((state >> np.uint64(33)) % np.uint64(count))
                    if other == i:
                        continue
                    squared = _squared(places, i, other)
                    push = 2.0 / ((0.01 + squared) * (1.0 + squared)) * rate
                    for axis in range(axes):
                        places[i, axis] += _clipped(push * (places[i, axis] - places[other, axis]))
