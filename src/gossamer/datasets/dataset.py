"""What the catalogue knows of a data set."""

from __future__ import annotations

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
    """A description, a loader, and where its files come from (None for data that needs no files)."""

    info: DatasetInfo
    load: Callable[..., Any]
    source: Source | None = None
