"""What a notebook shows of a container: the numbers to see first, and a few rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from gossamer.core.html import html_facts, html_table

NUM_ROWS, NUM_PARTS = 3, 8


class Shown(ABC):
    """Mix-in for containers that can `describe` themselves; `_first_rows` may give a few rows to look at."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the numbers a person wants to see first."""

    def _first_rows(self) -> list[dict[str, Any]]:
        return []

    def _repr_html_(self) -> str:
        rows = self._first_rows()
        facts = {name.replace("_", " "): value for name, value in self.describe().items()}
        return html_facts(type(self).__name__, facts) + (html_table(rows) if rows else "")


class ShownParts:
    """Mix-in for what holds `train`, `valid` and `test`, and a `description` of how they were divided."""

    train: Any
    valid: Any
    test: Any
    description: dict[str, Any]

    def _repr_html_(self) -> str:
        parts = [(name, getattr(self, name)) for name in ("train", "valid", "test")]
        rows = [{"part": name, "rows": len(part), "what": _one_line(part)} for name, part in parts if part is not None]
        note = ", ".join(f"{name}={value}" for name, value in self.description.items())
        return html_table(rows, title=type(self).__name__, note=note)


def join_first(parts: list[Any]) -> str:
    """Return the first parts of a row as one text.

    >>> join_first(["a", "b"])
    'a, b'
    """
    more = ", …" if len(parts) > NUM_PARTS else ""
    return ", ".join(map(str, parts[:NUM_PARTS])) + more


def _one_line(part: Any) -> str:
    if hasattr(part, "target"):
        return f"history of {part.history.nnz:,} and target of {part.target.nnz:,} interactions"
    return repr(part)
