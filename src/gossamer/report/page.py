"""A report as one self-contained HTML page: no script, no network, nothing beside it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from gossamer.core.atomic import replacing_file
from gossamer.report.blocks import Drawing, Section, place_svg
from gossamer.report.tables import cell_of, fact_of, show_table
from gossamer.version import __version__


@dataclass(frozen=True)
class Report:
    """A title, what it is about, and its sections in reading order."""

    title: str
    subtitle: str
    sections: Sequence[Section]


def render(report: Report) -> str:
    """Return the page; the same report gives the same characters, and every text in it is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gossamer.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=False,
    )
    numbers = itertools.count(1)

    def next_id(kind: str) -> str:
        return f"{kind}-{next(numbers)}"

    environment.globals.update(
        cell_of=cell_of,
        fact_of=fact_of,
        show_table=show_table,
        kind_of=lambda block: type(block).__name__,
        paragraphs=_paragraphs,
        next_id=next_id,
        place_svg=lambda drawing: _place_svg(drawing, next_id("figure")),
    )
    context: dict[str, Any] = {"report": report, "version": __version__, "style": Markup(_style_sheet(environment))}
    return environment.get_template("page.html").render(context).strip() + "\n"


def write_report(report: Report, path: str | Path) -> None:
    """Write the page as UTF-8; a reader of `path` sees the old page or the new one, never half of it."""
    # What UTF-8 cannot hold (half a surrogate pair, from a file name that was no text) becomes a question mark.
    content = render(report).encode("utf-8", "replace")
    with replacing_file(Path(path)) as temporary:
        temporary.write_bytes(content)


def _style_sheet(environment: jinja2.Environment) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, "style.css")[0]


def _paragraphs(text: str) -> list[str]:
    return [paragraph.strip() for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def _place_svg(drawing: Drawing, name: str) -> Markup:
    return Markup(place_svg(drawing.svg, drawing.alt, name))
