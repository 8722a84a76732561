"""Compiled loops over CSR: neighbours, negatives and divisions of histories, each a function of seed and row."""

from __future__ import annotations

import numba
import numpy as np

MAX_TRIES = 32  # draws per wanted neighbour of a row that is mostly excluded, before the row is read through


@numba.njit(cache=True, inline="always")
def next_random(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the next state and 64 random bits (splitmix64): one addition, no table, any start is a good start."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@numba.njit(cache=True, inline="always")
def start_of_row(seed: np.uint64, row: int) -> np.uint64:
    """Return the generator's state for one row, so that rows may be drawn in any order or on any thread."""
    _, bits = next_random(seed ^ (np.uint64(row) * np.uint64(0xD1342543DE82EF95)))
    return bits


@numba.njit(cache=True, inline="always")
def as_unit(bits: np.uint64) -> float:
    """Return 53 of the bits as a number in [0, 1)."""
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@numba.njit(cache=True, inline="always")
def is_among(ordered: np.ndarray, begin: int, end: int, value: int) -> bool:
    """Say whether a part of an array, which is in ascending order there, has a value."""
    last = end
    while begin < end:
        middle = (begin + end) // 2
        if ordered[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return bool(begin < last and ordered[begin] == value)


@numba.njit(cache=True, inline="always")
def is_allowed(neighbour: int, forbidden: int, excluded: np.ndarray) -> bool:
    """Say whether an edge may be used: not the row's target, and not to one of the excluded, who are in order."""
    return neighbour != forbidden and not is_among(excluded, 0, len(excluded), neighbour)


@numba.njit(cache=True)
def read_allowed(
    indices: np.ndarray, begin: int, end: int, forbidden: int, excluded: np.ndarray, count: int, state: np.uint64,
    chosen: np.ndarray,
) -> int:  # fmt: skip
    """Fill `chosen` with at most `count` allowed neighbours of a row by one pass (a reservoir); return how many."""
    seen = 0
    for position in range(begin, end):
        neighbour = indices[position]
        if not is_allowed(neighbour, forbidden, excluded):
            continue
        if seen < count:
            chosen[seen] = neighbour
        else:
            state, bits = next_random(state)
            place = int(bits % np.uint64(seen + 1))
            if place < count:
                chosen[place] = neighbour
        seen += 1
    return min(seen, count)


@numba.njit(cache=True)
def draw_distinct(
    indices: np.ndarray, begin: int, end: int, forbidden: int, excluded: np.ndarray, count: int, state: np.uint64,
    chosen: np.ndarray,
) -> int:  # fmt: skip
    """Fill `chosen` with `count` different allowed neighbours by rejection; return -1 where tries run out."""
    degree = np.uint64(end - begin)
    found, tries = 0, 0
    while found < count:
        if tries == MAX_TRIES * count:
            return -1
        tries += 1
        state, bits = next_random(state)
        neighbour = indices[begin + int(bits % degree)]
        is_new = is_allowed(neighbour, forbidden, excluded)
        for earlier in range(found):
            is_new = is_new and chosen[earlier] != neighbour
        if is_new:
            chosen[found] = neighbour
            found += 1
    return found


@numba.njit(cache=True, nogil=True)
def uniform_neighbours(
    indptr: np.ndarray, indices: np.ndarray, rows: np.ndarray, forbidden: np.ndarray, excluded: np.ndarray, count: int,
    seed: np.uint64, chosen: np.ndarray,
) -> None:  # fmt: skip
    """Fill (rows, count) with different neighbours drawn uniformly, -1 where a row has no more.

    A row of few neighbours is read once; a hub is never read: its neighbours are drawn by position.
    """
    for number in range(len(rows)):
        row = rows[number]
        target = forbidden[number] if len(forbidden) else -1
        state = start_of_row(seed, number)
        found = -1
        begin, end = indptr[row], indptr[row + 1]
        if end - begin > 4 * count:
            found = draw_distinct(indices, begin, end, target, excluded, count, state, chosen[number])
        if found < 0:
            found = read_allowed(indices, begin, end, target, excluded, count, state, chosen[number])
        chosen[number, found:] = -1


@numba.njit(cache=True, nogil=True)
def weighted_neighbours(
    indptr: np.ndarray, indices: np.ndarray, cumulative: np.ndarray, rows: np.ndarray, forbidden: np.ndarray,
    excluded: np.ndarray, count: int, seed: np.uint64, chosen: np.ndarray,
) -> None:  # fmt: skip
    """Fill (rows, count) with neighbours drawn with replacement in proportion to their weights, -1 where none is left.

    `cumulative` holds running sums of weights within each row. A draw that is not allowed is drawn again; where tries
    run out, the weights of the allowed neighbours are summed once and the row is walked.
    """
    for number in range(len(rows)):
        begin, end = indptr[rows[number]], indptr[rows[number] + 1]
        target = forbidden[number] if len(forbidden) else -1
        state = start_of_row(seed, number)
        chosen[number] = -1
        total = cumulative[end - 1] if end > begin else 0.0
        if total <= 0:
            continue
        tries, found = 0, 0
        while found < count and tries < MAX_TRIES * count:
            tries += 1
            state, bits = next_random(state)
            place = begin + np.searchsorted(cumulative[begin:end], as_unit(bits) * total, side="right")
            neighbour = indices[min(place, end - 1)]
            if is_allowed(neighbour, target, excluded):
                chosen[number, found] = neighbour
                found += 1
        if found < count:
            walk_weights(indices, cumulative, begin, end, target, excluded, found, state, chosen[number])


@numba.njit(cache=True)
def walk_weights(
    indices: np.ndarray, cumulative: np.ndarray, begin: int, end: int, forbidden: int, excluded: np.ndarray, found: int,
    state: np.uint64, chosen: np.ndarray,
) -> None:  # fmt: skip
    """Draw the rest of a row by walking through the weights of its allowed neighbours."""
    total, before = 0.0, 0.0
    for position in range(begin, end):
        weight = cumulative[position] - before
        before = cumulative[position]
        total += weight if is_allowed(indices[position], forbidden, excluded) else 0.0
    if total <= 0:
        return
    for place in range(found, len(chosen)):
        state, bits = next_random(state)
        left = as_unit(bits) * total
        before = 0.0
        for position in range(begin, end):
            weight = cumulative[position] - before
            before = cumulative[position]
            if weight > 0 and is_allowed(indices[position], forbidden, excluded):
                chosen[place] = indices[position]
                left -= weight
                if left < 0:
                    break


@numba.njit(cache=True, inline="always")
def is_neighbour(indptr: np.ndarray, indices: np.ndarray, row: int, column: int) -> bool:
    """Say whether a sorted row has a column."""
    return is_among(indices, indptr[row], indptr[row + 1], column)


@numba.njit(cache=True, nogil=True)
def draw_negatives(
    indptr: np.ndarray, indices: np.ndarray, rows: np.ndarray, cumulative: np.ndarray, num_items: int, count: int,
    seed: np.uint64, chosen: np.ndarray,
) -> None:  # fmt: skip
    """Fill (rows, count) with items that the row does not have: uniform, or by the running sums of popularity.

    A row that has all items, or all that can be drawn, keeps -1.
    """
    for number in range(len(rows)):
        row = rows[number]
        state = start_of_row(seed, number)
        for place in range(count):
            chosen[number, place] = -1
            for _ in range(MAX_TRIES * 8):
                state, bits = next_random(state)
                if len(cumulative):
                    item = np.searchsorted(cumulative, as_unit(bits) * cumulative[-1], side="right")
                    item = min(item, num_items - 1)
                else:
                    item = int(bits % np.uint64(num_items))
                if not is_neighbour(indptr, indices, row, item):
                    chosen[number, place] = item
                    break


@numba.njit(cache=True, nogil=True)
def divide_rows(
    indptr: np.ndarray, order: np.ndarray, rows: np.ndarray, low: float, high: float, nothing: float, by_order: bool,
    seed: np.uint64, is_input: np.ndarray,
) -> None:  # fmt: skip
    """Mark which edges of each row are what is known; the others are to be predicted. Edges of rows come in turn.

    Of a share `nothing` of rows nothing is known, of the others a share between `low` and `high`: of a row's first
    edges in `order` (a rank within the row, by time), or of its edges at random. At least one edge of a row is to be
    predicted.
    """
    done = 0
    for number in range(len(rows)):
        begin, end = indptr[rows[number]], indptr[rows[number] + 1]
        degree = end - begin
        state = start_of_row(seed, number)
        state, bits = next_random(state)
        share = low + (high - low) * as_unit(bits)
        state, bits = next_random(state)
        wanted = 0 if as_unit(bits) < nothing else min(int(share * degree + 0.5), degree - 1)
        if by_order:
            for place in range(degree):
                is_input[done + place] = order[begin + place] < wanted
        else:
            left = wanted
            for place in range(degree):  # selection sampling: exactly `wanted` of them, all subsets alike
                state, bits = next_random(state)
                is_taken = as_unit(bits) * (degree - place) < left
                is_input[done + place] = is_taken
                left -= 1 if is_taken else 0
        done += degree
