"""What a data set looks like: its numbers, its long tail, its most frequent entries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np

from gossamer.data import Counts, Interactions, LabelledArrays, Sentences, Sequences, Vocabulary
from gossamer.report.blocks import Block, Figure, KeyNumbers, Section, Table
from gossamer.report.figures import histogram, long_tail
from gossamer.report.numbers import format_share

Data: TypeAlias = Interactions | Counts | Sentences | Sequences | LabelledArrays

_SHOWN = 10  # most frequent entries in the table


def data_section(data: Data, title: str = "The data") -> Section:
    """Summarise a container: key numbers, the long tail of its items, terms, words or events, and lengths."""
    blocks: list[Block] = [KeyNumbers(_tiles(data.describe()))]
    match data:
        case Interactions():
            blocks += _interaction_blocks(data)
        case Counts():
            blocks += _tail_blocks(np.asarray(data.matrix.sum(axis=0)), data.terms, "terms", "tokens")
        case Sentences():
            counts = np.bincount(data.tokens, minlength=len(data.vocabulary))
            blocks += _tail_blocks(counts, data.vocabulary, "words", "tokens", data.lengths, "sentences")
        case Sequences() if data.observations.ndim == 1:
            events = data.vocabulary or Vocabulary.numbered(int(data.observations.max(initial=-1)) + 1)
            seen = data.observations[data.observations >= 0]
            counts = np.bincount(seen, minlength=len(events))
            blocks += _tail_blocks(counts, events, "events", "steps", data.lengths, "series")
        case Sequences():
            drawings = histogram(data.lengths, "steps per series", "series", is_log=True)
            blocks.append(Figure(drawings, "How long the series are."))
    return Section(title, blocks)


def _interaction_blocks(data: Interactions) -> list[Block]:
    drawings = long_tail(data.item_counts, "items", "interactions")
    drawings += histogram(data.user_counts, "items per user", "users", is_log=True)
    caption = "A few items hold much of what happened, most are rare, and of most users little is known."
    if data.rating is not None and np.unique(data.rating).size <= 12:
        drawings += histogram(data.rating, "rating", "interactions")
    return [Figure(drawings, caption), _most_frequent(data.item_counts, data.items, "item", "users", data.num_users)]


def _tail_blocks(
    counts: np.ndarray,
    names: Vocabulary,
    label: str,
    counted: str,
    lengths: np.ndarray | None = None,
    rows: str = "",
) -> list[Block]:
    drawings = long_tail(counts, label, counted)
    if lengths is not None:
        drawings += histogram(lengths, f"{counted} per {rows.removesuffix('s')}", rows, is_log=True)
    table = _most_frequent(counts, names, label.removesuffix("s"), counted, float(counts.sum()))
    return [Figure(drawings, f"A few {label} hold much of all {counted}; most are rare."), table]


def _most_frequent(counts: np.ndarray, names: Vocabulary, label: str, counted: str, total: float) -> Table:
    order = np.argsort(-counts, kind="stable")[:_SHOWN]
    rows = [
        {label: str(names[int(index)]), counted: int(counts[index]), "share": float(counts[index] / max(total, 1))}
        for index in order
        if counts[index] > 0
    ]
    return Table(rows, f"The most frequent {label}s", formats={"share": format_share})


def _tiles(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Write the names and the special numbers of `describe()` for people; what is absent (no classes) is left out."""
    tiles: dict[str, Any] = {}
    for name, value in summary.items():
        if name in ("classes", "empty_documents", "missing") and not value:
            continue
        label = name.replace("_", " ")
        if name == "density":
            tiles[label] = format_share(value)
        elif name in ("first_time", "last_time"):
            tiles[label.replace("time", "day")] = _day(value)
        elif isinstance(value, list):
            tiles[label] = " × ".join(map(str, value)) or "one number"
        elif isinstance(value, float):
            tiles[label] = f"{value:,.2f}".rstrip("0").rstrip(".")
        else:
            tiles[label] = value
    return tiles


def _day(seconds: int) -> str | int:
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):  # not seconds after all: milliseconds, or a plain counter
        return seconds
