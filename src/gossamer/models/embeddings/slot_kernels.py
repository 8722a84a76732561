"""Compiled loops over slots: the fixed number of places that a row of T has."""

from __future__ import annotations

import numba
import numpy as np


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
