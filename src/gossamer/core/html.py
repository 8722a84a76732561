"""A table as HTML for notebooks: everything escaped, nothing coloured, so that light and dark paper suit it alike."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

MAX_ROWS = 20
MAX_LENGTH = 120  # of a cell: a name can be a novel
_LINE = "1px solid rgba(128, 128, 128, 0.4)"
_CELL = "padding: 0.2em 0.8em 0.2em 0; vertical-align: top; background: none; color: inherit;"


def html_table(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str = "",
    note: str = "",
    has_header: bool = True,
    total: Mapping[str, Any] | None = None,
) -> str:
    """Return rows of equal keys as a `<table>`; numbers to the right, only the first rows, names and values cut.

    `total` is one more row, which is there however many there are.

    >>> "&lt;b&gt;" in html_table([{"model": "<b>", "recall": 0.5}])
    True
    """
    columns = list(rows[0] if rows else total or {})
    is_number = {name: all(isinstance(row.get(name), int | float | None) for row in rows) for name in columns}
    parts = ['<table style="border-collapse: collapse; margin: 0.4em 0; color: inherit;">']
    if title:
        parts.append(f'<caption style="text-align: left; font-weight: bold; color: inherit;">{_safe(title)}</caption>')
    if has_header:
        cells = "".join(f'<th scope="col" style="{_style(is_number[name])}">{_safe(name)}</th>' for name in columns)
        parts.append(f'<thead><tr style="border-bottom: {_LINE};">{cells}</tr></thead>')
    parts.append("<tbody>")
    for row in [*rows[:MAX_ROWS], *([] if total is None else [total])]:
        cells = "".join(f'<td style="{_style(is_number[name])}">{_safe(_text(row.get(name)))}</td>' for name in columns)
        parts.append(f'<tr style="background: none;">{cells}</tr>')
    parts.append("</tbody></table>")
    left_out = f"and {len(rows) - MAX_ROWS:,} more rows" if len(rows) > MAX_ROWS else ""
    parts += [f'<div style="opacity: 0.75;">{_safe(line)}</div>' for line in (left_out, note) if line]
    return "".join(parts)


def html_facts(title: str, facts: Mapping[str, Any], note: str = "") -> str:
    """Return names and values as a table of two columns.

    >>> "<td" in html_facts("Interactions", {"users": 3})
    True
    """
    rows = [{"name": name, "value": _text(value)} for name, value in facts.items()]
    return html_table(rows, title=title, note=note, has_header=False)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _safe(text: str) -> str:
    printable = str(text).encode("utf-8", "replace").decode()  # half a surrogate pair is no text to a browser
    return html.escape(printable if len(printable) <= MAX_LENGTH else printable[: MAX_LENGTH - 1] + "…")


def _style(is_number: bool) -> str:
    return f"{_CELL} text-align: {'right' if is_number else 'left'};"
