"""Ctrl-C that waits: for the end of an update, and for the other processes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupt_deferred() -> Iterator[None]:
    """Hold a Ctrl-C back until the block ends, then raise KeyboardInterrupt; a second Ctrl-C raises at once.

    An update that is cut in the middle leaves half of the parameters changed, which no checkpoint could repair.
    """
    with interrupt_held():
        yield


@contextmanager
def interrupt_held() -> Iterator[Callable[[], bool]]:
    """Hold a Ctrl-C back as `interrupt_deferred` does, and yield a function that says whether one waits.

    Processes that train together tell each other and stop after the same update: one that stopped alone would leave
    the others waiting for its gradients. Signals reach the main thread only, and only Python's own handler is replaced;
    elsewhere, and inside another such block, the block just runs.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    received = False

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal received
        if received:
            signal.default_int_handler(number, frame)
        received = True

    signal.signal(signal.SIGINT, hold)
    try:
        yield lambda: received
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if received:
        raise KeyboardInterrupt
