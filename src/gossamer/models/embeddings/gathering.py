"""A sparse matrix whose rows processes have divided among them, put together row block by row block."""

from __future__ import annotations

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Int
from scipy.sparse import csr_array
from torch import Tensor

ENTRIES_AT_ONCE = 1 << 22


def gather_rows(own: csr_array, num_rows: int, *, only_first: bool = False) -> csr_array | None:
    """Return the matrix whose row i is row i // W of process i mod W; all processes call this together.

    With `only_first` process 0 alone receives it, and the others get None. Nobody holds more than the matrix and one
    block of entries: each process in turn sends its row lengths, then its entries, and they are written in place.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    receives = rank == 0 or not only_first
    indptr = np.zeros(num_rows + 1 if receives else 1, dtype=np.int64)
    for sender in range(world_size):
        count = len(range(sender, num_rows, world_size))
        lengths = _passed_on(np.diff(own.indptr).astype(np.int64), count, np.int64, sender, only_first)
        if receives:
            indptr[1 + sender :: world_size] = lengths
    np.cumsum(indptr, out=indptr)
    num_entries = int(indptr[-1]) if receives else 0
    indices, data = np.empty(num_entries, dtype=np.int32), np.empty(num_entries, dtype=np.float32)
    for sender in range(world_size):
        places = _places_of(indptr, sender, world_size) if receives else np.empty(0, dtype=np.int64)
        for target, kind in ((indices, own.indices), (data, own.data)):
            _send_entries(kind.astype(target.dtype, copy=False), target, places, sender, only_first)
    return csr_array((data, indices, indptr), shape=(num_rows, own.shape[1])) if receives else None


def _send_entries(
    own: np.ndarray, target: np.ndarray, places: Int[np.ndarray, " n"], sender: int, only_first: bool
) -> None:
    """Write a process's entries, block by block, to their places in `target`."""
    size = torch.tensor([len(own)])
    dist.broadcast(size, src=sender)
    for begin in range(0, int(size), ENTRIES_AT_ONCE):
        count = min(ENTRIES_AT_ONCE, int(size) - begin)
        block = _passed_on(own[begin : begin + count], count, target.dtype, sender, only_first)
        if len(places):
            target[places[begin : begin + count]] = block


def _passed_on(mine: np.ndarray, count: int, dtype: np.typing.DTypeLike, sender: int, only_first: bool) -> np.ndarray:
    """Return what `sender` has given, on all processes or on the first alone; the others get what does not matter."""
    rank = dist.get_rank()
    if only_first and rank not in (0, sender):
        return mine
    received: Tensor = torch.from_numpy(np.array(mine) if rank == sender else np.empty(count, dtype=dtype))
    if not only_first:
        dist.broadcast(received, src=sender)
    elif sender != 0:
        dist.send(received, dst=0) if rank == sender else dist.recv(received, src=sender)
    return received.numpy()


def _places_of(indptr: Int[np.ndarray, " n"], sender: int, world_size: int) -> Int[np.ndarray, " m"]:
    """Return where the entries of one process's rows lie among all."""
    starts, ends = indptr[:-1][sender::world_size], indptr[1:][sender::world_size]
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    places: np.ndarray = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return places
