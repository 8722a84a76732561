"""Compiled loops over a tensor train: rows of the table straight from the cores, without gathered copies of slices."""

from __future__ import annotations

import numba
import numpy as np

ROWS_OF_A_PART = 256  # what one thread contracts in a go, long enough for its scratch memory to cost nothing


# "contract" allows fused multiply-adds; the rest of fastmath would let NaN of a diverged table pass unseen.
@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _multiply(left: np.ndarray, right: np.ndarray, begin: int, step: int, product: np.ndarray) -> None:
    """Set product (M, N) to left (M, K) · right[begin::step], four of K at a time, along N in vectors."""
    num_inner = left.shape[1]
    in_fours = num_inner - num_inner % 4
    for m in range(len(left)):
        row = product[m]
        row[:] = 0
        for k in range(0, in_fours, 4):
            at = begin + k * step
            a, b, c, d = left[m, k], left[m, k + 1], left[m, k + 2], left[m, k + 3]
            for_a, for_b, for_c, for_d = right[at], right[at + step], right[at + 2 * step], right[at + 3 * step]
            for n in range(len(row)):
                row[n] += a * for_a[n] + b * for_b[n] + c * for_c[n] + d * for_d[n]
        for k in range(in_fours, num_inner):
            a, for_a = left[m, k], right[begin + k * step]
            for n in range(len(row)):
                row[n] += a * for_a[n]


@numba.njit(cache=True, nogil=True)
def _transpose(matrix: np.ndarray, transposed: np.ndarray) -> None:
    for n in range(matrix.shape[1]):
        for m in range(matrix.shape[0]):
            transposed[n, m] = matrix[m, n]


@numba.njit(cache=True, nogil=True)
def _sort_stably(order: np.ndarray, digits: np.ndarray, base: int) -> np.ndarray:
    """Return `order` by digits[order], equal ones as they were, by counting."""
    starts = np.zeros(base + 1, dtype=np.int64)
    for digit in digits:
        starts[digit + 1] += 1
    for digit in range(base):
        starts[digit + 1] += starts[digit]
    by_digit = np.empty_like(order)
    for row in order:
        by_digit[starts[digits[row]]] = row
        starts[digits[row]] += 1
    return by_digit


@numba.njit(cache=True, nogil=True)
def _order_rows(ids: np.ndarray, v1: int, v2: int, v3: int) -> np.ndarray:
    """Return rows by i2, so that a slice of the second core stays in the cache, and then by i1."""
    prefixes = ids // v3
    i1 = prefixes // v2
    return _sort_stably(_sort_stably(np.arange(len(ids)), i1, v1), prefixes - i1 * v2, v2)


@numba.njit(cache=True, nogil=True)
def _contract_part(
    first: np.ndarray,
    second: np.ndarray,
    third: np.ndarray,
    ids: np.ndarray,
    order: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Set rows[order]; `second` is (r1·v2, d2·r2) and `rows` (B, d1·d2, d3)."""
    (_, d1, r1), (v3, r2, d3) = first.shape, third.shape
    v2, outer = len(second) // r1, rows.shape[1]
    product = np.empty((d1, second.shape[1]), dtype=first.dtype)
    prefix = product.reshape(outer, r2)
    turned_prefix, turned_row = np.empty((r2, outer), dtype=first.dtype), np.empty((d3, outer), dtype=first.dtype)
    is_turned = d3 < outer  # vectors along the longer side of a row's (d1·d2, d3)
    present = -1
    for row in order:
        needed, i3 = ids[row] // v3, ids[row] % v3
        if needed != present:
            _multiply(first[needed // v2], second, needed % v2, v2, product)
            if is_turned:
                _transpose(prefix, turned_prefix)
            present = needed
        if is_turned:
            _multiply(third[i3].T, turned_prefix, 0, 1, turned_row)
            _transpose(turned_row, rows[row])
        else:
            _multiply(prefix, third[i3], 0, 1, rows[row])


@numba.njit(cache=True, parallel=True, nogil=True)
def fill_rows(first: np.ndarray, second: np.ndarray, third: np.ndarray, ids: np.ndarray, rows: np.ndarray) -> None:
    """Set rows (B, d1·d2, d3) to rows `ids` of the table; rows of one prefix follow each other and share its product.

    Cores are as `tensor_train_contract` has them. Ids are not checked here, and a wrong one reads foreign memory.
    """
    (v1, _, r1), (_, v2, d2, r2) = first.shape, second.shape
    order = _order_rows(ids, v1, v2, len(third))
    matrix = second.reshape(r1 * v2, d2 * r2)
    for part in numba.prange((len(ids) + ROWS_OF_A_PART - 1) // ROWS_OF_A_PART):
        places = order[part * ROWS_OF_A_PART : (part + 1) * ROWS_OF_A_PART]
        _contract_part(first, matrix, third, ids, places, rows)
