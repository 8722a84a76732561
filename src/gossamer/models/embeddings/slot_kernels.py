"""Compiled loops over slots: the fixed number of places that a row of T has."""

from __future__ import annotations

import numba
import numpy as np

FEWEST_PER_THREAD = 1024  # ids; for fewer, starting a thread costs more than it saves


@numba.njit(cache=True)
def fill_slots(
    indptr: np.ndarray,
    columns: np.ndarray,
    data: np.ndarray,
    num_columns: int,
    first: np.ndarray,
    slots: np.ndarray,
    values: np.ndarray,
) -> None:
    """Place each row's entries into its slots; others get further columns, from `first[row]` on, and value 0."""
    num_slots = slots.shape[1]
    for row in range(len(indptr) - 1):
        used = 0
        for position in range(indptr[row], indptr[row + 1]):
            slots[row, used] = columns[position]
            values[row, used] = data[position]
            used += 1
        num_entries = used
        candidate = first[row]
        while used < num_slots:
            taken = False
            for entry in range(num_entries):
                if slots[row, entry] == candidate:
                    taken = True
                    break
            if not taken:
                slots[row, used] = candidate
                values[row, used] = 0.0
                used += 1
            candidate = (candidate + 1) % num_columns


def copy_slots(
    ids: np.ndarray, slots: np.ndarray, values: np.ndarray, near_slots: np.ndarray, near_values: np.ndarray
) -> None:
    """Set near_slots = slots[ids] and near_values = values[ids]."""
    num_parts = max(1, min(numba.get_num_threads(), len(ids) // FEWEST_PER_THREAD))
    if num_parts == 1:
        _copy_some(ids, slots, values, near_slots, near_values)
    else:
        _copy_in_parts(ids, slots, values, near_slots, near_values, num_parts)


@numba.njit(cache=True, nogil=True)
def _copy_some(
    ids: np.ndarray, slots: np.ndarray, values: np.ndarray, near_slots: np.ndarray, near_values: np.ndarray
) -> None:
    for place in range(len(ids)):
        row = ids[place]
        for slot in range(slots.shape[1]):
            near_slots[place, slot] = slots[row, slot]
            near_values[place, slot] = values[row, slot]


@numba.njit(cache=True, parallel=True, nogil=True)
def _copy_in_parts(
    ids: np.ndarray,
    slots: np.ndarray,
    values: np.ndarray,
    near_slots: np.ndarray,
    near_values: np.ndarray,
    num_parts: int,
) -> None:
    size = (len(ids) + num_parts - 1) // num_parts
    for part in numba.prange(num_parts):
        some = slice(part * size, (part + 1) * size)
        _copy_some(ids[some], slots, values, near_slots[some], near_values[some])
