"""Progress of long work: silent in a library call, a bar on stderr where the command line switched it on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

T = TypeVar("T")

_shown: ContextVar[bool] = ContextVar("gossamer_progress_shown", default=False)


@contextmanager
def show_progress(shown: bool = True) -> Iterator[None]:
    """Switch progress bars on (or off) for everything called inside the block."""
    token = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(token)


def progress_is_shown() -> bool:
    """Say whether the caller asked for progress bars."""
    return _shown.get()


def progress_bar() -> Progress:
    """Return a rich bar on stderr that is disabled where progress is not shown.

    Tasks carry a free `note` field, which the training loop fills with loss and rate.
    """
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not (progress_is_shown() and console.is_terminal),  # a file would only collect blank lines
    )


def track(iterable: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Iterate as usual, with a progress bar where progress is shown.

    >>> list(track(range(3), "counting"))
    [0, 1, 2]
    """
    if not progress_is_shown():
        yield from iterable
        return
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    with progress_bar() as bar:
        task = bar.add_task(description, total=total, note="")
        for element in iterable:
            yield element
            bar.advance(task)
