"""How many processes torchrun started and which of them this one is, read without importing torch."""

from __future__ import annotations

import os


def process_count() -> int:
    """Return how many processes share the work: those that torchrun started, or this one.

    A schedule over all updates of a training is counted with it, `epochs * batches.count(process_count())`.

    >>> process_count()
    1
    """
    return int(os.environ["WORLD_SIZE"]) if "TORCHELASTIC_RUN_ID" in os.environ else 1


def process_rank() -> int:
    """Return the number of this process among them, from 0.

    >>> process_rank()
    0
    """
    return int(os.environ["RANK"]) if process_count() > 1 else 0
