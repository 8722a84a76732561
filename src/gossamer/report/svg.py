"""Matplotlib figures as SVG that lives inside a page: its colours, its fonts, nothing of its own.

Text and axes are `currentColor`, so that they follow the page into the dark; the series keep their colours, which
are legible on both papers and told apart by colour-blind readers (tests/report/test_svg.py measures both).
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gossamer.core.atomic import replacing_file

# Drawn in this colour, then replaced: matplotlib knows no currentColor.
INK = "#010203"
SERIES_COLOURS = ("#1f7bd1", "#e2581a", "#08a285", "#964a8c")
WIDTH = 400  # small enough for a phone to show its text at nearly full size

_STYLE: dict[Any, dict[str, Any]] = {
    "svg": {"fonttype": "none", "hashsalt": "gossamer"},
    "text": {"parse_math": False, "color": INK},  # a "$" in somebody's title is no formula
    "axes": {"edgecolor": INK, "labelcolor": INK, "facecolor": "none", "linewidth": 0.8, "axisbelow": True}
    | {"labelsize": 12.5, "labelpad": 6, "grid": True},
    "axes.spines": {"top": False, "right": False, "left": False},
    "axes.grid": {"axis": "y"},
    "grid": {"color": INK, "alpha": 0.14, "linewidth": 0.8},
    "xtick": {"color": INK, "labelsize": 12, "major.size": 4, "minor.size": 0},
    "ytick": {"color": INK, "labelsize": 12, "major.size": 0, "minor.size": 0},
    "lines": {"linewidth": 2.2, "solid_capstyle": "round"},
    "figure": {"facecolor": "none"},
    "savefig": {"facecolor": "none"},
}


class Painted(str):
    """An `<svg>` element that remembers how it was painted, for `report.plot` to paint it again."""

    paint: Callable[[Axes], None]
    height: float


def draw_svg(paint: Callable[[Axes], None], height: float = 250) -> Painted:
    """Give `paint` empty axes in the house style and return what it drew as an `<svg>` element."""
    with house_style():
        figure = Figure(figsize=(WIDTH / 72, height / 72), layout="constrained")
        paint(figure.subplots())
        painted = Painted(figure_svg(figure))
    painted.paint, painted.height = paint, height
    return painted


def figure_svg(figure: Figure) -> str:
    """Return a figure that was painted in the house style as an `<svg>` element on no paper of its own."""
    target = io.BytesIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with house_style():
        figure.savefig(target, format="svg", metadata=metadata, facecolor="none")
    return _fit_for_page(target.getvalue().decode())


@contextmanager
def house_style() -> Iterator[None]:
    """Draw as a report does, whatever the user's matplotlibrc says, and leave the user's settings as they were."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        for group, settings in _STYLE.items():
            matplotlib.rc(group, **settings)
        # A script the layout font lacks is no fault: the reader's browser draws the text.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def write_svg(svg: str, path: Path) -> None:
    """Write a drawing as a file of its own, all at once or not at all."""
    alone = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    with replacing_file(path) as temporary:
        temporary.write_text(alone + "\n", encoding="utf-8")


def short_label(text: object, length: int = 24) -> str:
    """Return a name that fits beside an axis: one line, printable, cut where it is too long.

    >>> short_label("a" * 30, 5), short_label("tab\\there")
    ('aaaa…', 'tab�here')
    """
    encodable = str(text).encode("utf-8", "replace").decode()
    printable = "".join(letter if letter.isprintable() else "�" for letter in encodable)
    return printable if len(printable) <= length else printable[: length - 1] + "…"


def _fit_for_page(svg: str) -> str:
    """Keep the `<svg>` element alone, without size, style sheet, metadata, unused ids and fonts of its own."""
    svg = svg[svg.index("<svg") : svg.rindex("</svg>") + len("</svg>")]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0]
    svg = re.sub(r"<svg[^>]*>", f'<svg viewBox="0 0 {width} {height}" stroke-linejoin="round">', svg, count=1)
    used = set(re.findall(r"#([\w-]+)[\")]", svg))
    # Only inside tags: matplotlib escapes angle brackets, so nobody's label is taken for one.
    svg = re.sub(r"<[^>]+>", lambda tag: _clean_tag(tag[0], used), svg)
    return re.sub(r"\s*\n\s*", "\n", svg)


def _clean_tag(tag: str, used: set[str]) -> str:
    tag = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", tag)
    tag = tag.replace("xlink:href", "href").replace(INK, "currentColor")
    tag = re.sub(r" font-family: [^;\"]*;| transform=\"rotate\(-0 [^\"]*\"", "", tag)
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", tag)
