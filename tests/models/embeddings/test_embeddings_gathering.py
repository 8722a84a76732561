"""Rows that processes have divided among them, put together again."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from gossamer.models.embeddings import gathering

WORLD_SIZE = 3


class Threads:
    """What `gather_rows` asks of torch.distributed, between threads."""

    def __init__(self) -> None:
        self.own = threading.local()
        self.meeting = threading.Barrier(WORLD_SIZE, timeout=30)
        self.sent: Any = None
        self.mail = {rank: threading.Semaphore(0) for rank in range(WORLD_SIZE)}
        self.parcels: dict[int, torch.Tensor] = {}
        self.taken = threading.Semaphore(0)
        self.largest = 0

    def get_rank(self) -> int:
        return self.own.rank

    def get_world_size(self) -> int:
        return WORLD_SIZE

    def broadcast(self, values: torch.Tensor, src: int) -> None:
        if self.get_rank() == src:
            self.sent = values.clone()
            self.largest = max(self.largest, len(values))
        self.meeting.wait()
        values.copy_(self.sent)
        self.meeting.wait()

    def send(self, values: torch.Tensor, dst: int) -> None:
        assert dst == 0
        self.parcels[self.get_rank()] = values.clone()
        self.mail[self.get_rank()].release()
        self.taken.acquire()

    def recv(self, values: torch.Tensor, src: int) -> None:
        self.mail[src].acquire()
        values.copy_(self.parcels[src])
        self.taken.release()


@pytest.mark.parametrize("only_first", [False, True])
def test_rows_are_put_together_block_by_block(only_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = csr_array(random_array((23, 7), density=0.4, rng=np.random.default_rng(0), dtype=np.float32))
    processes = Threads()
    monkeypatch.setattr(gathering, "dist", processes)
    monkeypatch.setattr(gathering, "ENTRIES_AT_ONCE", 5)
    found: list[Any] = [0] * WORLD_SIZE

    def run(rank: int) -> None:
        processes.own.rank = rank
        found[rank] = gathering.gather_rows(csr_array(whole[rank::WORLD_SIZE]), 23, only_first=only_first)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(WORLD_SIZE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    receivers = found[:1] if only_first else found
    for matrix in receivers:
        np.testing.assert_array_equal(matrix.toarray(), whole.toarray())
    assert [matrix for matrix in found[len(receivers) :] if matrix is not None] == []
    assert processes.largest <= 8, "no more than the lengths of one process's rows, or one block of entries"
