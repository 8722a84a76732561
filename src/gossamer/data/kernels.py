"""Compiled CPU loops that build and check compressed rows."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def place_in_rows(
    rows: np.ndarray, columns: np.ndarray, cursor: np.ndarray, indices: np.ndarray, position: np.ndarray
) -> None:
    """Put each (row, column) pair at its row's cursor: a stable counting sort, one pass, no temporary copy.

    `position` receives where each pair went, so that ratings and times can follow it.
    """
    for pair in range(len(rows)):
        target = cursor[rows[pair]]
        cursor[rows[pair]] = target + 1
        indices[target] = columns[pair]
        position[pair] = target


@numba.njit(cache=True, nogil=True)
def first_fault(indptr: np.ndarray, indices: np.ndarray, num_columns: int) -> int:
    """Return the first position whose column is out of range or does not rise within its row, -1 if none."""
    for row in range(len(indptr) - 1):
        previous = -1
        for position in range(indptr[row], indptr[row + 1]):
            column = indices[position]
            if column <= previous or column >= num_columns:
                return position
            previous = column
    return -1


@numba.njit(cache=True, nogil=True)
def sort_row(columns: np.ndarray, order: np.ndarray) -> None:
    """Fill `order` with a stable ordering of one row's columns.

    Rows are short and often nearly sorted, so insertion sort wins up to some length; longer rows use mergesort.
    """
    size = len(columns)
    if size > 48:
        order[:] = np.argsort(columns, kind="mergesort")
        return
    for element in range(size):
        place = element
        while place > 0 and columns[order[place - 1]] > columns[element]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = element


@numba.njit(cache=True, nogil=True)
def sort_rows(indptr: np.ndarray, indices: np.ndarray, rating: np.ndarray, time: np.ndarray) -> bool:
    """Sort every row by column, stably and in place; return whether a column occurs twice in a row.

    Empty `rating` or `time` mean that there are none.
    """
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    buffer = np.empty(longest, dtype=np.int64)
    repeated = False
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        order = buffer[: stop - start]
        sort_row(indices[start:stop], order)
        indices[start:stop] = indices[start:stop][order]
        if len(rating):
            rating[start:stop] = rating[start:stop][order]
        if len(time):
            time[start:stop] = time[start:stop][order]
        for position in range(start + 1, stop):
            repeated = repeated or indices[position] == indices[position - 1]
    return repeated


@numba.njit(cache=True, nogil=True)
def merge_repeats(indptr: np.ndarray, indices: np.ndarray, rating: np.ndarray, time: np.ndarray, rule: int) -> int:
    """Merge equal neighbours of sorted rows in place (rule 0 keeps the first, 1 the last, 2 sums ratings).

    Which of two events is the last one is decided by time where there are times, else by the order they came in.
    Returns the number of pairs left; `indptr` is rewritten.
    """
    kept = 0
    start = indptr[0]
    for row in range(len(indptr) - 1):
        stop = indptr[row + 1]
        first_of_row = kept
        for position in range(start, stop):
            if kept > first_of_row and indices[kept - 1] == indices[position]:
                replaces = rule != 0
                if len(time):
                    earlier = time[position] < time[kept - 1]
                    replaces = earlier if rule == 0 else not earlier
                if len(rating):
                    if rule == 2:
                        rating[kept - 1] += rating[position]
                    elif replaces:
                        rating[kept - 1] = rating[position]
                if len(time) and replaces:
                    time[kept - 1] = time[position]
            else:
                indices[kept] = indices[position]
                if len(rating):
                    rating[kept] = rating[position]
                if len(time):
                    time[kept] = time[position]
                kept += 1
        start = stop
        indptr[row + 1] = kept
    return kept
