"""What a report is made of: sections of text, numbers, facts, tables, figures and folds, as plain data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple, TypeAlias


class Estimate(NamedTuple):
    """A number with the ends of its confidence interval; NaN where there is none."""

    mean: float
    low: float
    high: float


class Hit(NamedTuple):
    """A recommended thing that the user turned out to have: shown with a tick."""

    name: str


# Text, numbers, None, Estimate, Hit, lists and dicts have a form of their own (tables.cell_of); the rest is str().
Cell: TypeAlias = object


class Drawing(NamedTuple):
    """One SVG picture with its title, and the sentence that says what it shows to those who cannot see it."""

    title: str
    svg: str
    alt: str

    def __repr__(self) -> str:
        return f"Drawing({self.title!r}: {self.alt})"  # nobody reads the SVG


def place_svg(svg: str, alt: str, name: str) -> str:
    """Name a picture for screen readers, and its ids so that no two pictures of a page share one."""
    svg = re.sub(r"(<[^>]* id=\")", rf"\g<1>{name}-", svg)
    svg = re.sub(r"(<[^>]*(?:href=\"|url\()#)", rf"\g<1>{name}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1)


@dataclass(frozen=True)
class Text:
    """Plain text; a blank line starts a new paragraph."""

    text: str


@dataclass(frozen=True)
class KeyNumbers:
    """The few numbers to see first, as tiles: label → value."""

    numbers: Mapping[str, Cell]


@dataclass(frozen=True)
class Facts:
    """Names and values to look up, such as settings or provenance."""

    facts: Mapping[str, Cell]


@dataclass(frozen=True)
class Table:
    """Rows of named cells; the first column names the row.

    Columns are those of all rows, in order of first appearance. `best` says for a column whether its "max" or
    "min" is to be bold, `formats` how its numbers are written; `note` stands below and says how to read it.
    """

    rows: Sequence[Mapping[str, Cell]]
    caption: str = ""
    best: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, Callable[[float], str]] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """One or more drawings side by side, where there is room, above one caption."""

    drawings: Sequence[Drawing]
    caption: str = ""


@dataclass(frozen=True)
class Fold:
    """Blocks behind a title that opens and closes."""

    title: str
    blocks: Sequence[Block]
    is_open: bool = False


Block: TypeAlias = Text | KeyNumbers | Facts | Table | Figure | Fold


@dataclass(frozen=True)
class Section:
    """A heading, a sentence that says what to look for, and blocks."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""


def drawings_in(blocks: Sequence[Block]) -> Iterator[Drawing]:
    """Yield the drawings of blocks from top to bottom, those inside folds too."""
    for block in blocks:
        if isinstance(block, Figure):
            yield from block.drawings
        elif isinstance(block, Fold):
            yield from drawings_in(block.blocks)
