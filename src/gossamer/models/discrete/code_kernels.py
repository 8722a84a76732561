"""Compiled loops of the search over codes: rows into bit planes, and a scan that adds planes 64 rows at a time.

A *plane* holds one bit per row: "this row has feature j at least v times". How much a row shares with a query is the
number of planes of the query that have the row's bit; adding the planes bit by bit (a counter's digit b is again a
word with one bit per row) costs a handful of instructions per 64 rows, where counting row by row costs as many per row.
"""

from __future__ import annotations

import numba
import numpy as np

from gossamer.core.kernels import is_worse, sift_down

WORDS = 64  # of a plane in one block: 512 bytes, so that counters and planes of a query stay in the first cache
BLOCK_ROWS = 64 * WORDS
MAX_LISTED = 128  # a plane with at most so many rows of a block is stored as their positions, in 1/2 of the bytes
SHARED, JACCARD, COSINE, HAMMING = range(4)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@numba.njit(cache=True)
def fill_planes(
    indptr: np.ndarray, columns: np.ndarray, counts: np.ndarray, rows: np.ndarray, first_plane: np.ndarray,
    planes: np.ndarray, num_set: np.ndarray,
) -> None:  # fmt: skip
    """Set the bits of one block: position i of the block is row rows[i], and count v sets v planes of its feature."""
    planes[:] = 0
    num_set[:] = 0
    for position in range(len(rows)):
        row = rows[position]
        word, bit = position >> 6, np.uint64(1) << np.uint64(position & 63)
        for entry in range(indptr[row], indptr[row + 1]):
            first = first_plane[columns[entry]]
            for plane in range(first, first + counts[entry]):
                planes[plane, word] |= bit
                num_set[plane] += 1


@numba.njit(cache=True)
def list_positions(planes: np.ndarray, num_set: np.ndarray, positions: np.ndarray) -> None:
    """Write where the bits of all planes with few of them are, rising, into `positions`, which has room for all."""
    found = 0
    for plane in range(len(planes)):
        if num_set[plane] > MAX_LISTED:
            continue
        for word in range(WORDS):
            rest, position = planes[plane, word], 64 * word
            while rest:
                if rest & np.uint64(1):
                    positions[found] = position
                    found += 1
                rest >>= np.uint64(1)
                position += 1


@numba.njit(cache=True)
def count_query_planes(
    indptr: np.ndarray, columns: np.ndarray, counts: np.ndarray, first_plane: np.ndarray, is_product: bool,
    query_planes: np.ndarray, starts: np.ndarray,
) -> None:  # fmt: skip
    """List the planes to be added per query, filled up with the empty plane to 7·a or 7·a + 3 of them.

    For the sum of minima, count v of a query takes the first v planes of the feature; for the inner product all of
    them, v times each. Called with an empty `query_planes`, it only finds the `starts`.
    """
    empty = first_plane[-1]
    is_writing = len(query_planes) > 0
    size = 0
    for query in range(len(indptr) - 1):
        begin = size
        for entry in range(indptr[query], indptr[query + 1]):
            first, after = first_plane[columns[entry]], first_plane[columns[entry] + 1]
            times = counts[entry] if is_product else 1
            last = after if is_product else min(after, first + counts[entry])
            for plane in range(first, last):
                for _ in range(times):
                    if is_writing:
                        query_planes[size] = plane
                    size += 1
        over = (size - begin) % 7
        for _ in range(0 if over == 0 else 3 - over if over <= 3 else 7 - over):
            if is_writing:
                query_planes[size] = empty
            size += 1
        starts[query + 1] = size


@numba.njit(cache=True)
def unpack_planes(
    bitmaps: np.ndarray, positions: np.ndarray, places: np.ndarray, lengths: np.ndarray, block: int,
    wanted: np.ndarray, planes: np.ndarray,
) -> None:  # fmt: skip
    """Write the wanted planes of one block as bits; a place is that of a bitmap where its length is MAX_LISTED + 1."""
    for slot in range(len(wanted)):
        plane, place, length = planes[slot], places[wanted[slot], block], lengths[wanted[slot], block]
        if length > MAX_LISTED:
            bitmap = bitmaps[place]
            for word in range(WORDS):
                plane[word] = bitmap[word]
        else:
            plane[:] = 0
            for entry in range(place, place + length):
                position = positions[entry]
                plane[position >> 6] |= np.uint64(1) << np.uint64(position & 63)


@numba.njit(cache=True, inline="always")
def _add_bits(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the digits 1 and 2 of a + b + c, in each of 64 bits: a full adder."""
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@numba.njit(cache=True)
def _add_seven(planes: np.ndarray, slots: np.ndarray, digits: np.ndarray, carry: np.ndarray) -> None:
    """Add seven planes to the three lowest digits of the counters; what overflows is left in `carry`."""
    a, b, c, d = planes[slots[0]], planes[slots[1]], planes[slots[2]], planes[slots[3]]
    e, f, g = planes[slots[4]], planes[slots[5]], planes[slots[6]]
    digit_1, digit_2, digit_4 = digits[0], digits[1], digits[2]
    for word in range(WORDS):
        low, twos_a = _add_bits(a[word], b[word], c[word])
        high, twos_b = _add_bits(d[word], e[word], f[word])
        ones, twos_c = _add_bits(low, high, g[word])
        twos, fours = _add_bits(twos_a, twos_b, twos_c)
        old = digit_1[word]
        digit_1[word] = old ^ ones
        digit_2[word], over = _add_bits(digit_2[word], twos, old & ones)
        digit_4[word], over = _add_bits(digit_4[word], fours, over)
        carry[word] = over


@numba.njit(cache=True)
def _add_three(planes: np.ndarray, slots: np.ndarray, digits: np.ndarray, carry: np.ndarray) -> None:
    """Add three planes to the three lowest digits of the counters; what overflows is left in `carry`."""
    a, b, c = planes[slots[0]], planes[slots[1]], planes[slots[2]]
    digit_1, digit_2, digit_4 = digits[0], digits[1], digits[2]
    for word in range(WORDS):
        ones, twos = _add_bits(a[word], b[word], c[word])
        old = digit_1[word]
        digit_1[word] = old ^ ones
        digit_2[word], over = _add_bits(digit_2[word], twos, old & ones)
        old = digit_4[word]
        digit_4[word] = old ^ over
        carry[word] = old & over


@numba.njit(cache=True)
def _carry_on(digit: np.ndarray, carry: np.ndarray) -> None:
    """Add `carry` to a digit, leaving what overflows in `carry`."""
    for word in range(WORDS):
        old = digit[word]
        digit[word] = old ^ carry[word]
        carry[word] &= old


@numba.njit(cache=True)
def _start_counters(needed: np.ndarray, num_digits: int, digits: np.ndarray, passed: np.ndarray) -> None:
    """Start each row's counter at 2^num_digits − needed, so that it overflows when the row shares enough."""
    for digit in range(num_digits):
        line = digits[digit]
        for word in range(WORDS):
            start = (np.uint64(1) << np.uint64(num_digits)) - needed[word]
            line[word] = np.uint64(0) - ((start >> np.uint64(digit)) & np.uint64(1))
    for word in range(WORDS):
        passed[word] = _ALL if needed[word] == 0 else np.uint64(0)


@numba.njit(cache=True)
def add_planes(
    planes: np.ndarray, slots: np.ndarray, needed: np.ndarray, num_digits: int, digits: np.ndarray, passed: np.ndarray
) -> bool:
    """Mark in `passed` which rows of a block are in at least `needed` (one number per word) of the planes of `slots`.

    In all marked rows `digits` hold what is above `needed`. Returns whether any row is marked.
    """
    _start_counters(needed, num_digits, digits, passed)
    carry = np.empty(WORDS, np.uint64)
    for start in range(0, len(slots), 7):
        if len(slots) - start >= 7:
            _add_seven(planes, slots[start : start + 7], digits, carry)
        else:
            _add_three(planes, slots[start : start + 3], digits, carry)
        for digit in range(3, num_digits):
            _carry_on(digits[digit], carry)
        for word in range(WORDS):
            passed[word] |= carry[word]
    marked = np.uint64(0)
    for word in range(WORDS):
        marked |= passed[word]
    return bool(marked)


@numba.njit(cache=True, inline="always")
def _rank_key(similarity: int, shared: int, size: int, query_size: int) -> float:
    """Return what rows are ranked by, exact in float64: equal similarities of small counts give equal keys.

    `size` is the squared norm for the cosine, whose key is its square times the query's squared norm.
    """
    if similarity == SHARED:
        return float(shared)
    if similarity == HAMMING:
        return float(2 * shared - size - query_size)
    if size == 0 and query_size == 0:
        return 1.0  # two empty codes are equal
    if shared == 0:
        return 0.0
    if similarity == JACCARD:
        return shared / (query_size + size - shared)
    return shared * shared / size


@numba.njit(cache=True, inline="always")
def _best_key(similarity: int, shared: int, size: int, query_size: int) -> float:
    """Return the key that no row with this sum of counts and this much in common exceeds; falls as `size` grows."""
    if similarity == COSINE:  # a squared norm is at least the sum of counts, and Cauchy and Schwarz bound the product
        return min(_rank_key(similarity, shared, max(size, min(shared, 1)), query_size), float(max(query_size, 1)))
    return _rank_key(similarity, shared, max(size, shared), query_size)


@numba.njit(cache=True)
def _find_needs(similarity: int, query_size: int, most_shared: int, worst: float, needs: np.ndarray) -> None:
    """Fill how much a row of each size must share to be better than `worst`; most_shared + 1 where it cannot."""
    shared = 0
    for size in range(len(needs)):
        while shared <= most_shared and _best_key(similarity, shared, size, query_size) <= worst:
            shared += 1
        needs[size] = shared


@numba.njit(cache=True)
def _offer(key: float, row: int, keys: np.ndarray, rows: np.ndarray, num_kept: int) -> int:
    """Keep a row if it is among the best so far, and return how many are kept."""
    if num_kept < len(keys):
        keys[num_kept], rows[num_kept] = key, row
        num_kept += 1
        if num_kept == len(keys):
            for start in range(num_kept // 2 - 1, -1, -1):
                sift_down(keys, rows, start, num_kept)
    elif is_worse(keys[0], rows[0], key, row):
        keys[0], rows[0] = key, row
        sift_down(keys, rows, 0, num_kept)
    return num_kept


@numba.njit(cache=True)
def _offer_passed(
    passed: np.ndarray, digits: np.ndarray, num_digits: int, needed: np.ndarray, order: np.ndarray, sizes: np.ndarray,
    first_row: int, num_rows: int, similarity: int, query_size: int, keys: np.ndarray, rows: np.ndarray, num_kept: int,
) -> int:  # fmt: skip
    """Offer every marked row of a block with its true key."""
    for word in range(WORDS):
        rest, position = passed[word], 64 * word
        while rest:
            if rest & np.uint64(255) == 0:
                rest >>= np.uint64(8)
                position += 8
                continue
            if rest & np.uint64(1) and position < num_rows:
                shared = int(needed[word])
                for digit in range(num_digits):
                    shared += int((digits[digit, word] >> np.uint64(position & 63)) & np.uint64(1)) << digit
                key = _rank_key(similarity, shared, int(sizes[position]), query_size)
                num_kept = _offer(key, first_row + order[position], keys, rows, num_kept)
            rest >>= np.uint64(1)
            position += 1
    return num_kept


@numba.njit(cache=True)
def sort_kept(keys: np.ndarray, rows: np.ndarray) -> None:
    """Turn a full heap into a list, best first."""
    for last in range(len(keys) - 1, 0, -1):
        keys[0], keys[last] = keys[last], keys[0]
        rows[0], rows[last] = rows[last], rows[0]
        sift_down(keys, rows, 0, last)


@numba.njit(cache=True, nogil=True)
def scan_blocks(
    bitmaps: np.ndarray, positions: np.ndarray, places: np.ndarray, lengths: np.ndarray, order: np.ndarray,
    sizes: np.ndarray, norms: np.ndarray, num_rows: int, max_size: int, similarity: int, query_sizes: np.ndarray,
    wanted: np.ndarray, slots: np.ndarray, starts: np.ndarray, keys: np.ndarray, rows: np.ndarray,
) -> None:  # fmt: skip
    """Fill the best rows of every query, best first, ties by lower row, from one pass over the blocks.

    A block's planes are unpacked once and added for all queries while they are in the cache. Blocks come in the order
    of their rows, so that a row equal to the worst kept one of earlier blocks is not wanted.
    """
    num_queries = len(query_sizes)
    ranked_sizes = norms if similarity == COSINE else sizes
    planes = np.zeros((len(wanted) + 1, WORDS), np.uint64)  # the last stays empty
    num_digits = 3
    while (1 << num_digits) <= np.max(starts[1:] - starts[:-1]):
        num_digits += 1
    digits = np.zeros((num_digits, WORDS), np.uint64)
    passed, needed = np.zeros(WORDS, np.uint64), np.zeros(WORDS, np.uint64)
    needs = np.zeros((num_queries, max_size + 1), np.uint64)
    num_kept = np.zeros(num_queries, np.int64)
    is_done = np.zeros(num_queries, np.bool_)
    worst = np.full(num_queries, -np.inf)
    for block in range(len(order)):
        first_row = block * BLOCK_ROWS
        unpack_planes(bitmaps, positions, places, lengths, block, wanted, planes)
        for query in range(num_queries):
            if is_done[query]:
                continue
            mine = slots[starts[query] : starts[query + 1]]
            for word in range(WORDS):
                needed[word] = needs[query, sizes[block, 64 * word]]
            if not add_planes(planes, mine, needed, num_digits, digits, passed):
                continue
            num_kept[query] = _offer_passed(
                passed, digits, num_digits, needed, order[block], ranked_sizes[block],
                first_row, min(BLOCK_ROWS, num_rows - first_row), similarity, query_sizes[query],
                keys[query], rows[query], num_kept[query],
            )  # fmt: skip
            if num_kept[query] == keys.shape[1] and keys[query, 0] > worst[query]:
                worst[query] = keys[query, 0]
                most_shared = len(mine) if similarity == COSINE else min(len(mine), query_sizes[query])
                _find_needs(similarity, query_sizes[query], most_shared, worst[query], needs[query])
                is_done[query] = needs[query, 0] > most_shared
    for query in range(num_queries):
        sort_kept(keys[query], rows[query])
