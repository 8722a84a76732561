"""The drawing of a search: every trial by bytes and metric, and the front that none of them beats."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from gossamer.report.blocks import Drawing
from gossamer.report.figures import write_powers
from gossamer.report.numbers import format_number
from gossamer.report.svg import INK, SERIES_COLOURS, draw_svg, short_label


def draw_front(metric: str, tried: Sequence[tuple[float, float]], front: Sequence[tuple[float, float]]) -> Drawing:
    """Show (bytes, metric) of all trials as dots and of the front, smallest first, as a line through its own."""

    def paint(axes: Axes) -> None:
        axes.plot(*_columns(tried), "o", color=INK, alpha=0.35, markersize=5)
        axes.plot(*_columns(front), color=SERIES_COLOURS[0], marker="o", markersize=7, drawstyle="steps-post")
        if len({size for size, _ in tried}) > 1:
            axes.set_xscale("log")
        write_powers(axes.xaxis)
        axes.set_xlabel("bytes stored")
        axes.set_ylabel(short_label(metric))
        axes.margins(0.08)

    described = ", ".join(f"{format_number(found)} at {size:,.0f}" for size, found in front)
    alt = f"{metric} against bytes of {len(tried)} trials; none is better and smaller than {described}."
    return Drawing(f"{metric} by bytes", draw_svg(paint), alt)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [size for size, _ in points], [found for _, found in points]
