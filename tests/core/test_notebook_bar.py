"""The bar of a notebook, with a notebook that remembers what it was shown."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import rich.console
from rich.console import Console

from gossamer.core import notebook_bar, progress
from gossamer.core.notebook_bar import NotebookBar
from gossamer.core.progress import progress_is_shown, show_progress, switch_progress, track


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, bool]]:
    """Return what the notebook displays: place, HTML, and whether it takes the place of what was there."""
    seen: list[tuple[str, str, bool]] = []

    def display(bundle: dict[str, str], *, raw: bool, display_id: str, update: bool) -> None:
        seen.append((display_id, bundle["text/html"], update))

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    module.display = display  # type: ignore[attr-defined]
    package.get_ipython = lambda: SimpleNamespace(execution_count=7)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(notebook_bar, "_displayed", set())
    monkeypatch.setattr(notebook_bar, "SECONDS_BETWEEN", -1.0)
    monkeypatch.setattr(rich.console, "Console", lambda **_: Console(force_jupyter=True))
    return seen


@pytest.fixture
def switched_on() -> Any:
    switch_progress()
    yield
    switch_progress(False)


def test_bars_share_a_line_and_leave_it_empty(shown: list[Any], switched_on: None) -> None:
    assert list(track("ab", "first <b>")) == ["a", "b"]
    assert list(track(iter("c"), "second")) == ["c"]
    assert {place for place, _, _ in shown} == {"gossamer-7-0"}
    assert [update for _, _, update in shown] == [False] + [True] * (len(shown) - 1)
    assert shown[0][1] == '<div>first &lt;b&gt; <progress value="0" max="2"></progress> 0/2 </div>'
    assert [content for _, content, _ in shown if not content] == ["", ""]
    assert shown[-1][1] == ""
    assert "<progress></progress> 1 " in shown[-2][1]  # nobody knows how much an iterator has


def test_one_inside_another_has_its_own_line_and_notes_are_told(shown: list[Any]) -> None:
    with show_progress(), progress.progress_bar() as outer, progress.progress_bar() as inner:
        assert isinstance(outer, NotebookBar)
        task = inner.add_task("epoch", total=4, completed=1, note="")
        inner.update(task, advance=1, note="loss 0.5 & falling")
    assert shown[1][:2] == (
        "gossamer-7-1",
        '<div>epoch <progress value="2" max="4"></progress> 2/4 loss 0.5 &amp; falling</div>',
    )


def test_a_switch_holds_until_it_is_turned_and_a_block_comes_first(shown: list[Any], switched_on: None) -> None:
    assert progress_is_shown()
    with show_progress(False):
        assert not progress_is_shown()
        list(track("ab", "silent"))
    assert (progress_is_shown(), shown) == (True, [])
    switch_progress(False)
    assert not progress_is_shown()
