"""Progress of long work: silent in a library call, a bar where the command line or a notebook switched it on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from gossamer.core.checks import check_bool
from gossamer.core.notebook_bar import Bar, NotebookBar

T = TypeVar("T")

_shown: ContextVar[bool | None] = ContextVar("gossamer_progress_shown", default=None)
# Not in the context: a notebook runs each cell in one of its own, and forgets what another cell had set.
_is_on_for_good = False


def switch_progress(on: bool = True) -> None:
    """Switch progress bars on, or off, for the rest of the session: `gossamer.switch_progress()` in a notebook."""
    global _is_on_for_good
    _is_on_for_good = check_bool("on", on)


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
    shown = _shown.get()
    return _is_on_for_good if shown is None else shown


def progress_bar() -> Bar:
    """Return a bar, on stderr or in a notebook, that is disabled where progress is not shown.

    Tasks carry a free `note` field, which the training loop fills with loss and rate.
    """
    from rich.console import Console  # here, so that models can be imported without it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if progress_is_shown() and console.is_jupyter:
        return NotebookBar(sys.modules["IPython"].get_ipython())
    bar: Bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not (progress_is_shown() and console.is_terminal),  # a file would only collect blank lines
    )
    return bar


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
