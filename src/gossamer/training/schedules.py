"""How a learning rate changes over the updates of a run."""

from __future__ import annotations

import math

WARM_UP = 0.05  # of the updates


def warm_cosine(update: int, num_updates: int) -> float:
    """Return the factor of the learning rate at an update.

    >>> [round(warm_cosine(update, 100), 2) for update in (0, 4, 52, 100)]
    [0.2, 1.0, 0.51, 0.0]
    """
    warm_up = max(1.0, WARM_UP * num_updates)
    if update < warm_up:
        return (update + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (update - warm_up) / max(1.0, num_updates - warm_up))))
