"""A progress bar in a notebook: one line of HTML below the cell, which goes when the work is done.

Rich's own needs ipywidgets, opens a widget per bar and leaves scraps: a fit of many epochs has a bar for each.
"""

from __future__ import annotations

import html
import time
from typing import Any, Protocol, runtime_checkable

SECONDS_BETWEEN = 0.1  # what is drawn more often nobody sees, and a browser has to keep up

_displayed: set[str] = set()
_num_open = 0


@runtime_checkable
class Bar(Protocol):
    """What gossamer asks of a progress bar; rich's `Progress` is one."""

    def __enter__(self) -> Bar:
        """Show it."""

    def __exit__(self, *_: Any) -> None:
        """Take it away."""

    def add_task(self, description: str, *, total: float | None, completed: int = 0, note: str = "") -> Any:
        """Say what is done, and how much of it there is."""

    def update(self, task_id: Any, *, advance: float, note: str = ...) -> None:
        """Say that more is done, and what there is to tell."""

    def advance(self, task_id: Any) -> None:
        """Say that one more is done."""


class NotebookBar:
    """A bar with one task in the cell that runs."""

    def __init__(self, shell: Any) -> None:
        self.cell = shell.execution_count
        self.description, self.note = "", ""
        self.total: float | None = None
        self.completed = 0.0
        self.drawn_at = 0.0

    def __enter__(self) -> NotebookBar:
        global _num_open
        # Bars that follow each other share a line; one inside another has its own.
        self.place = f"gossamer-{self.cell}-{_num_open}"
        _num_open += 1
        return self

    def __exit__(self, *_: Any) -> None:
        global _num_open
        _num_open -= 1
        _show(self.place, "")

    def add_task(self, description: str, *, total: float | None, completed: int = 0, note: str = "") -> int:
        """Begin."""
        self.description, self.total, self.completed, self.note = description, total, float(completed), note
        self._draw()
        return 0

    def update(self, _: Any, *, advance: float, note: str | None = None) -> None:
        """Go on by `advance`, with another note where there is one."""
        self.completed += advance
        self.note = self.note if note is None else note
        if time.monotonic() - self.drawn_at > SECONDS_BETWEEN:
            self._draw()

    def advance(self, task_id: Any) -> None:
        """Go on by one."""
        self.update(task_id, advance=1)

    def _draw(self) -> None:
        self.drawn_at = time.monotonic()
        extent = "" if self.total is None else f' value="{self.completed:g}" max="{self.total:g}"'
        done = f"{self.completed:,.0f}" + ("" if self.total is None else f"/{self.total:,.0f}")
        words = (html.escape(text) for text in (self.description, f"{done} {self.note}"))
        before, after = words
        _show(self.place, f"<div>{before} <progress{extent}></progress> {after}</div>")


def _show(place: str, content: str) -> None:
    from IPython.display import display  # there, since a notebook is

    display({"text/plain": "", "text/html": content}, raw=True, display_id=place, update=place in _displayed)
    _displayed.add(place)
