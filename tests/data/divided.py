"""Two processes that divide data, as two threads: they meet where they gather."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def in_two(run: Callable[..., T]) -> list[T]:
    """Return what `run(rank, gather)` returns on each of two processes."""
    given: list[Any] = [None, None]
    meeting = threading.Barrier(2, timeout=30)

    def gather_as(rank: int) -> Callable[[Any], list[Any]]:
        def gather(mine: Any) -> list[Any]:
            given[rank] = mine
            meeting.wait()
            everybody = list(given)
            meeting.wait()
            return everybody

        return gather

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda rank: run(rank, gather_as(rank)), range(2)))
