from __future__ import annotations

import os
import signal
import threading

import pytest

from gossamer.training.interrupts import interrupt_deferred, interrupt_held


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_waits_for_the_end_of_the_block():
    reached = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (the order inside is the point)
        with interrupt_deferred():
            interrupt()
            reached.append("end of block")
        reached.append("after block")
    assert reached == ["end of block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_a_second_interrupt_does_not_wait():
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupt_deferred():  # noqa: PT012
        interrupt()
        interrupt()
        reached.append("end of block")
    assert reached == []


@pytest.mark.usefixtures("interruptible")
def test_a_held_interrupt_is_told_and_blocks_inside_leave_it_waiting():
    told = []
    with pytest.raises(KeyboardInterrupt), interrupt_held() as is_waiting:  # noqa: PT012
        told.append(is_waiting())
        with interrupt_deferred():
            interrupt()
        told.append(is_waiting())
    assert told == [False, True]


def test_without_interrupt_and_in_other_threads_the_block_just_runs():
    results = []

    def work() -> None:
        with interrupt_deferred():
            results.append(1)

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [1, 1]


def test_a_foreign_handler_stays():
    received = []
    previous = signal.signal(signal.SIGINT, lambda *_: received.append(1))
    try:
        with interrupt_deferred():
            interrupt()
    finally:
        signal.signal(signal.SIGINT, previous)
    assert received == [1]
