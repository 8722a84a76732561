"""Compiled loops of the text CNN: the strongest window of every filter, without padding and without copies."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, parallel=True, nogil=True)
def strongest_windows(
    responses: np.ndarray,
    places: np.ndarray,
    lengths: np.ndarray,
    first: int,
    size: int,
    strongest: np.ndarray,
    begins: np.ndarray,
) -> None:
    """Set strongest[b, f] to the largest Σ_j responses[places[b, n + j], first + j·F + f] over windows n, and where.

    Windows of text b begin at 0 … lengths[b] − 1; among equals the first wins.
    """
    num_filters = strongest.shape[1]
    for text in numba.prange(len(places)):
        window = np.empty(num_filters, dtype=np.float32)
        best, begin = strongest[text], begins[text]
        best[:] = -np.inf
        for start in range(lengths[text]):
            window[:] = 0
            for tap in range(size):
                row = responses[places[text, start + tap], first + tap * num_filters : first + (tap + 1) * num_filters]
                for number in range(num_filters):
                    window[number] += row[number]
            for number in range(num_filters):
                is_better = window[number] > best[number]
                best[number] = window[number] if is_better else best[number]
                begin[number] = start if is_better else begin[number]


@numba.njit(cache=True, nogil=True)
def spread_gradient(
    gradient: np.ndarray, places: np.ndarray, begins: np.ndarray, first: int, size: int, for_responses: np.ndarray
) -> None:
    """Add gradient[b, f] to every summand of the window that won."""
    num_texts, num_filters = gradient.shape
    for text in range(num_texts):
        for number in range(num_filters):
            value = gradient[text, number]
            if value != 0:
                for tap in range(size):
                    place = places[text, begins[text, number] + tap]
                    for_responses[place, first + tap * num_filters + number] += value
