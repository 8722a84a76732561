"""Codes as they are stored for search: blocks of 4,096 rows, in each a plane of bits per feature and count.

Inside a block rows lie by rising number of active features, so that what a row must share to be a neighbour is nearly
the same for the 64 rows of a word, whatever the similarity; `order` says which row lies where.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numba
import numpy as np
from jaxtyping import Float64, Int64, Integer, UInt8, UInt16, UInt64
from numpy.typing import NDArray
from scipy import sparse

from gossamer.models.discrete.code_kernels import (
    BLOCK_ROWS,
    COSINE,
    MAX_LISTED,
    WORDS,
    count_query_planes,
    fill_planes,
    list_positions,
    scan_blocks,
    unpack_planes,
)
from gossamer.persistence import check_array, check_names

MAX_COUNT = 255
_QUERIES_AT_ONCE = 64  # more share a block in the cache, but not the planes they need of it


@dataclass(frozen=True)
class CodeBlocks:
    """N codes over K features. Feature j has a plane for each count up to its largest: "at least v times".

    Plane p of block b is `bitmaps[places[p, b]]`, or, where few rows have it (`lengths[p, b]` ≤ 128), their positions
    in the block `positions[places[p, b]:][:lengths[p, b]]`; a plane's blocks lie behind each other. The planes of
    feature j begin at `first_plane[j]`. `sizes` are the sums of the rows' counts and `norms` the sums of their squares
    (the same array where all counts are 0 or 1), both in the order in which rows lie in a block: row i of block b is at
    the place where `order[b]` is i.
    """

    num_rows: int
    first_plane: Int64[np.ndarray, " K1"]
    bitmaps: UInt64[np.ndarray, "M 64"]
    positions: UInt16[np.ndarray, " L"]
    lengths: UInt8[np.ndarray, "planes blocks"]
    order: UInt16[np.ndarray, "blocks 4096"]
    sizes: Integer[np.ndarray, "blocks 4096"]
    norms: Integer[np.ndarray, "blocks 4096"]

    @classmethod
    def build(cls, codes: sparse.csr_array) -> CodeBlocks:
        """Store codes that `read_codes` has checked."""
        num_rows, num_features = codes.shape
        num_blocks = -(-num_rows // BLOCK_ROWS)
        counts = codes.data.astype(np.int64)
        first_plane = _first_planes(codes, num_features)
        sizes, norms, order = _sort_rows(codes, counts, num_blocks)
        num_planes = int(first_plane[-1])
        planes, num_set = np.zeros((num_planes, WORDS), np.uint64), np.zeros(num_planes, np.int64)
        lengths = np.zeros((num_planes, num_blocks), np.uint8)
        bitmaps, positions = [], []  # of each block
        for block in range(num_blocks):
            first = block * BLOCK_ROWS
            rows = first + order[block, : min(BLOCK_ROWS, num_rows - first)].astype(np.int64)
            fill_planes(codes.indptr, codes.indices, counts, rows, first_plane, planes, num_set)
            lengths[:, block] = np.minimum(num_set, MAX_LISTED + 1)
            bitmaps.append(planes[num_set > MAX_LISTED])
            positions.append(np.empty(num_set[num_set <= MAX_LISTED].sum(), np.uint16))
            list_positions(planes, num_set, positions[-1])
        is_listed = lengths <= MAX_LISTED
        return cls(
            num_rows=num_rows,
            first_plane=first_plane,
            bitmaps=_by_plane(bitmaps, 1 - is_listed.astype(np.int64)),
            positions=_by_plane(positions, lengths * is_listed),
            lengths=lengths,
            order=order,
            sizes=sizes,
            norms=norms,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """N and K."""
        return self.num_rows, len(self.first_plane) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all that search needs."""
        return self.places.nbytes + sum(array.nbytes for array in self.arrays().values())

    @cached_property
    def places(self) -> Int64[np.ndarray, "planes blocks"]:
        """Where the bitmap or list of each plane and block begins: they lie in this order."""
        return _places(self.lengths)

    @cached_property
    def _max_size(self) -> int:
        return int(self.sizes[:, -1].max())  # they rise in each block

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what must be stored, by name; `norms` only where they are not the sizes."""
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "num_rows"}
        if self.norms is self.sizes:
            del found["norms"]
        return found

    @classmethod
    def from_arrays(cls, num_rows: int, arrays: dict[str, NDArray[Any]]) -> CodeBlocks:
        """Take back `arrays()`; whatever would lead the compiled search outside of an array is refused."""
        names = {field.name for field in fields(cls)} - {"num_rows"}
        check_names(arrays, names if "norms" in arrays else names - {"norms"})
        num_blocks = -(-num_rows // BLOCK_ROWS)
        first_plane = check_array(arrays, "first_plane", np.int64, (None,))
        if len(first_plane) < 2 or first_plane[0] != 0 or (np.diff(first_plane) < 0).any():
            raise ValueError("array 'first_plane' must rise from 0")
        num_planes = int(first_plane[-1])
        bitmaps = check_array(arrays, "bitmaps", np.uint64, (None, WORDS))
        positions = check_array(arrays, "positions", np.uint16, (None,))
        lengths = check_array(arrays, "lengths", np.uint8, (num_planes, num_blocks))
        order = check_array(arrays, "order", np.uint16, (num_blocks, BLOCK_ROWS))
        sizes = check_array(arrays, "sizes", None, (num_blocks, BLOCK_ROWS))
        check_array(arrays, "norms" if "norms" in arrays else "sizes", sizes.dtype, sizes.shape)
        if sizes.dtype.kind != "u" or (np.diff(sizes.astype(np.int64), axis=1) < 0).any():
            raise ValueError("array 'sizes' must hold unsigned integers that rise in each block")
        if (np.sort(order, axis=1) != np.arange(BLOCK_ROWS)).any():
            raise ValueError(f"array 'order' must hold each of 0..{BLOCK_ROWS - 1} once in each block")
        is_listed = lengths <= MAX_LISTED
        num_listed, num_bitmaps = int(lengths[is_listed].sum(dtype=np.int64)), int(np.count_nonzero(~is_listed))
        if (len(positions), len(bitmaps)) != (num_listed, num_bitmaps):
            raise ValueError(
                f"array 'lengths' must tell of {len(positions)} positions and {len(bitmaps)} bitmaps, "
                f"got {num_listed} and {num_bitmaps}"
            )
        if len(positions) and positions.max() >= BLOCK_ROWS:
            raise ValueError(f"array 'positions' must lie in 0..{BLOCK_ROWS - 1}, got {positions.max()}")
        return cls(num_rows=num_rows, **{"norms": arrays["sizes"], **arrays})

    def rows(self, wanted: Int64[np.ndarray, " n"]) -> sparse.csr_array:
        """Return the codes of rows, as they were given."""
        num_planes = int(self.first_plane[-1])
        features = np.repeat(np.arange(self.shape[1]), np.diff(self.first_plane))
        entries: list[tuple[np.ndarray, np.ndarray]] = []
        for block in np.unique(wanted // BLOCK_ROWS):
            planes = np.zeros((num_planes, WORDS), np.uint64)
            every = np.arange(num_planes)
            unpack_planes(self.bitmaps, self.positions, self.places, self.lengths, block, every, planes)
            places = np.argsort(self.order[block])  # of each row of the block
            asked = np.flatnonzero(wanted // BLOCK_ROWS == block)
            at = places[wanted[asked] % BLOCK_ROWS]
            bits = (planes[:, at >> 6] >> (at & 63).astype(np.uint64)) & np.uint64(1)
            plane, column = np.nonzero(bits)
            entries.append((asked[column], features[plane]))
        answer = np.concatenate([row for row, _ in entries]) if entries else np.zeros(0, np.int64)
        columns = np.concatenate([column for _, column in entries]) if entries else np.zeros(0, np.int64)
        ones = np.ones(len(answer), np.uint8)
        return sparse.csr_array(sparse.coo_array((ones, (answer, columns)), shape=(len(wanted), self.shape[1])))

    def nearest(
        self, queries: sparse.csr_array, k: int, similarity: int
    ) -> tuple[Int64[np.ndarray, "B k"], Float64[np.ndarray, "B k"]]:
        """Return the k ≤ N best rows of each query and the keys they are ranked by, see `code_kernels.scan_blocks`."""
        rows = np.empty((queries.shape[0], k), np.int64)
        keys = np.empty((queries.shape[0], k), np.float64)

        def search(start: int) -> None:
            part = slice(start, start + _QUERIES_AT_ONCE)
            self._scan(queries[part], similarity, keys[part], rows[part])

        _run_all(search, range(0, queries.shape[0], _QUERIES_AT_ONCE))
        return rows, keys

    def _scan(self, queries: sparse.csr_array, similarity: int, keys: np.ndarray, rows: np.ndarray) -> None:
        counts = queries.data.astype(np.int64)
        indptr = queries.indptr.astype(np.int64)  # one type, so that loops are compiled once
        arguments = (indptr, queries.indices.astype(np.int64), counts, self.first_plane, similarity == COSINE)
        starts = np.zeros(queries.shape[0] + 1, np.int64)
        count_query_planes(*arguments, np.zeros(0, np.int64), starts)
        query_planes = np.empty(starts[-1], np.int64)
        count_query_planes(*arguments, query_planes, starts)
        empty = self.first_plane[-1]
        # The empty plane is last among the distinct ones, and is not stored.
        wanted, slots = np.unique(np.append(query_planes, empty), return_inverse=True)
        weights = counts * counts if similarity == COSINE else counts
        query_sizes = np.add.reduceat(np.append(weights, 0), indptr[:-1]) * (np.diff(indptr) > 0)
        scan_blocks(
            self.bitmaps, self.positions, self.places, self.lengths, self.order, self.sizes, self.norms,
            self.num_rows, self._max_size, similarity, query_sizes, wanted[:-1], slots, starts, keys, rows,
        )  # fmt: skip


def _first_planes(codes: sparse.csr_array, num_features: int) -> Int64[np.ndarray, " K1"]:
    largest = np.zeros(num_features, np.int64)
    np.maximum.at(largest, codes.indices, codes.data.astype(np.int64))
    return np.concatenate([[0], np.cumsum(largest)])


def _sort_rows(
    codes: sparse.csr_array, counts: Int64[np.ndarray, " E"], num_blocks: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sizes, norms and order; rows that only fill up the last block come last in it."""
    num_rows = codes.shape[0]
    lengths = np.diff(codes.indptr)
    owners = np.repeat(np.arange(num_rows), lengths)
    row_sizes = np.bincount(owners, counts, num_rows).astype(np.int64)
    is_binary = not len(counts) or counts.max() == 1
    row_norms = row_sizes if is_binary else np.bincount(owners, counts * counts, num_rows).astype(np.int64)
    dtype = np.min_scalar_type(int(row_norms.max(initial=0)))
    filled = np.full((2, num_blocks * BLOCK_ROWS), row_sizes.max(initial=0), np.int64)
    filled[0, :num_rows], filled[1, :num_rows] = row_sizes, row_norms
    by_block = filled[0].reshape(num_blocks, BLOCK_ROWS)
    order = np.argsort(by_block, axis=1, kind="stable")
    sizes = np.take_along_axis(by_block, order, 1).astype(dtype)
    norms = np.take_along_axis(filled[1].reshape(num_blocks, BLOCK_ROWS), order, 1).astype(dtype)
    return sizes, sizes if is_binary else norms, order.astype(np.uint16)


def _places(lengths: UInt8[np.ndarray, "planes blocks"]) -> Int64[np.ndarray, "planes blocks"]:
    """Return where each plane's bitmap or list begins, if those of a plane follow each other."""
    is_listed = lengths <= MAX_LISTED
    listed = np.where(is_listed, lengths, 0).astype(np.int64)
    bitmaps_before = np.cumsum(~is_listed).reshape(lengths.shape) - 1
    return np.where(is_listed, np.cumsum(listed).reshape(lengths.shape) - listed, bitmaps_before)


def _by_plane(parts: list[np.ndarray], num_items: Int64[np.ndarray, "planes blocks"]) -> np.ndarray:
    """Join the parts of all blocks, each in the order of planes, so that the items of a plane follow each other."""
    joined = np.concatenate(parts)
    planes = np.repeat(np.tile(np.arange(len(num_items)), num_items.shape[1]), num_items.T.reshape(-1))
    return joined[np.argsort(planes, kind="stable")]


def _run_all(search: Any, starts: Iterable[int]) -> None:
    """Search all parts of the queries, on as many threads as numba may use: the scan does not hold the interpreter."""
    parts = list(starts)
    num_threads = min(numba.get_num_threads(), len(parts))
    if num_threads <= 1:
        for start in parts:
            search(start)
        return
    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(search, parts))
