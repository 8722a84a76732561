"""Who else hears how an epoch went, and may end the run: a search among settings, which gives up the hopeless ones.

A context, as progress is: an argument for it would go through every estimator, and be none of its business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

EpochListener: TypeAlias = Callable[[Mapping[str, float]], bool]

_listener: ContextVar[EpochListener | None] = ContextVar("gossamer_epoch_listener", default=None)


class TrainingStopped(Exception):
    """Raised out of the loop, and so out of an estimator's `fit`, where the listener wanted no more."""


@contextmanager
def listen_to_epochs(listener: EpochListener) -> Iterator[None]:
    """Give `listener` what every loop inside the block measures on validation data, after each epoch.

    A loop whose listener returns False raises `TrainingStopped`. Loops that validate nothing are not heard.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def goes_on_after(measured: Mapping[str, float]) -> bool:
    """Tell the listener, if there is one, what an epoch's validation gave, and return whether to go on."""
    listener = _listener.get()
    return listener is None or listener(measured)
