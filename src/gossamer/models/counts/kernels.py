"""Compiled loops over the nonzeros of a batch, and over those rows of a weight matrix that a batch has touched."""

from __future__ import annotations

import numba
import numpy as np

NEGLIGIBLE = 1e-7  # of a momentum: single precision would not notice what is left


@numba.njit(cache=True, nogil=True)
def group_by_term(terms: np.ndarray, num_terms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct terms, rising, where each one's nonzeros begin (one more at the end), and the nonzeros."""
    place_of = np.zeros(num_terms, dtype=np.int64)
    for term in terms:
        place_of[term] += 1
    num_distinct = np.count_nonzero(place_of)
    distinct = np.empty(num_distinct, dtype=np.int64)
    begins = np.empty(num_distinct + 1, dtype=np.int64)
    number, place = 0, 0
    for term in range(num_terms):
        size = place_of[term]
        if size > 0:
            distinct[number], begins[number] = term, place
            place_of[term] = place
            number += 1
            place += size
    begins[number] = place
    order = np.empty(len(terms), dtype=np.int64)
    for nonzero in range(len(terms)):
        term = terms[nonzero]
        order[place_of[term]] = nonzero
        place_of[term] += 1
    return distinct, begins, order


@numba.njit(cache=True, parallel=True, nogil=True, fastmath=True)
def sum_by_term(
    gradient: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    order: np.ndarray,
    begins: np.ndarray,
    targets: np.ndarray,
    sums: np.ndarray,
    num_parts: int,
) -> None:
    """Set row `targets` of `sums` to Σ values · gradient[rows] over the nonzeros of each term: part of Xᵀ·gradient.

    The work is cut into `num_parts` of about equally many nonzeros. A term lies in one of them, so the sums do not
    depend on how many there are.
    """
    num_nonzeros = begins[-1]
    for part in numba.prange(num_parts):
        first = np.searchsorted(begins, num_nonzeros * part // num_parts)
        last = np.searchsorted(begins, num_nonzeros * (part + 1) // num_parts)
        for number in range(first, last):
            line = sums[targets[number]]
            nonzero = order[begins[number]]
            value, source = values[nonzero], gradient[rows[nonzero]]
            for column in range(len(line)):
                line[column] = value * source[column]
            for place in range(begins[number] + 1, begins[number + 1]):
                value, source = values[order[place]], gradient[rows[order[place]]]
                for column in range(len(line)):
                    line[column] += value * source[column]


@numba.njit(cache=True, nogil=True)
def _momentum_left(updates_before: int, skipped: int, decays: tuple[float, float]) -> float:
    """Return Σ_j β₁ʲ/(1 − β₁ˢ) · √((1 − β₂ˢ)/β₂ʲ) with s = updates_before + j: what momentum moves a row that rests."""
    first, second = decays
    ratio = first / np.sqrt(second)
    power, first_power, second_power = 1.0, first**updates_before, second**updates_before
    total = 0.0
    for _ in range(skipped):
        power *= ratio
        if power < NEGLIGIBLE:
            break
        first_power *= first
        second_power *= second
        total += power * np.sqrt(1 - second_power) / (1 - first_power)
    return total


@numba.njit(cache=True, parallel=True, nogil=True, fastmath=True)
def catch_up_rows(
    weight: np.ndarray,
    mean: np.ndarray,
    square: np.ndarray,
    last_update: np.ndarray,
    rows: np.ndarray,
    update: int,
    settings: tuple[float, float, float, float],
) -> None:
    """Make the updates that distinct rows have missed, up to `update`, at all of which their gradient was zero."""
    rate, first, second, eps = settings
    for number in numba.prange(len(rows)):
        row = rows[number]
        before = int(last_update[row])
        skipped = update - before
        if skipped > 0:
            last_update[row] = update
        if skipped > 0 and before > 0:  # a row that never had a gradient has no momentum, either
            length = np.float32(rate * _momentum_left(before, skipped, (first, second)))
            floor = np.float32(eps * np.sqrt(1 - second**before))
            mean_left, square_left = np.float32(first**skipped), np.float32(second**skipped)
            for column in range(weight.shape[1]):
                weight[row, column] -= length * mean[row, column] / (np.sqrt(square[row, column]) + floor)
                mean[row, column] *= mean_left
                square[row, column] *= square_left


@numba.njit(cache=True, parallel=True, nogil=True, fastmath=True)
def update_rows(
    weight: np.ndarray,
    mean: np.ndarray,
    square: np.ndarray,
    last_update: np.ndarray,
    rows: np.ndarray,
    gradient: np.ndarray,
    update: int,
    settings: tuple[float, float, float, float],
) -> None:
    """Make update number `update` of Adam on distinct rows that have missed none."""
    rate, first, second, eps = settings
    root = np.sqrt(1 - second**update)
    length, floor = np.float32(rate * root / (1 - first**update)), np.float32(eps * root)
    mean_share, square_share = np.float32(1 - first), np.float32(1 - second)
    for number in numba.prange(len(rows)):
        row = rows[number]
        last_update[row] = update
        for column in range(weight.shape[1]):
            slope = gradient[number, column]
            mean[row, column] += mean_share * (slope - mean[row, column])
            square[row, column] += square_share * (slope * slope - square[row, column])
            weight[row, column] -= length * mean[row, column] / (np.sqrt(square[row, column]) + floor)
