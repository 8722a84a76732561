"""What the catalogue knows of a data set."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gossamer.datasets.source import Source


@dataclass(frozen=True)
class DatasetInfo:
    """What a person wants to know before loading: what it is, what comes back, whose it is, how large."""

    title: str
    kind: str
    size: str
    licence: str
    homepage: str
    citation: str


@dataclass(frozen=True)
class Dataset:
    """A description, a loader, and where its files come from (None for data that needs no files).

    `parts` are the values of the loader's `part` where documents or images come with a split of their own.
    """

    info: DatasetInfo
    load: Callable[..., Any]
    source: Source | None = None
    parts: tuple[str, ...] = ()

    def options(self) -> list[str]:
        """Return the names of what can be asked of the loader."""
        return list(inspect.signature(self.load).parameters)
