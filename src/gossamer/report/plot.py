"""Drawings of a report as one matplotlib figure, which shows itself in a notebook as they do on the page."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from matplotlib.figure import Figure

from gossamer.report.blocks import Drawing, place_svg
from gossamer.report.svg import WIDTH, Painted, figure_svg, house_style


class Plot(Figure):
    """A matplotlib figure, to be changed or saved like any other.

    A notebook shows it as it is now, in SVG that follows light and dark paper; `alt` says what it shows to those who
    cannot see it.
    """

    alt: str = ""

    def _repr_html_(self) -> str:
        svg = figure_svg(self)
        name = f"gossamer-{zlib.crc32(svg.encode())}"  # ids of pictures in other cells are others
        return f'<figure style="margin: 0.4em 0; max-width: 36em;">{place_svg(svg, self.alt, name)}</figure>'


def plot_drawings(drawings: Sequence[Drawing]) -> Plot:
    """Paint drawings once more, one below the other with their titles, into one figure on white paper."""
    if not drawings:
        raise ValueError("drawings must have at least one to make a figure, got none")
    painted = [_painted(drawing) for drawing in drawings]
    heights = [one.height for one in painted]
    with house_style():
        plot = Plot(figsize=(WIDTH / 72, sum(heights) / 72), layout="constrained")
        plot.set_facecolor("white")
        rows = plot.subplots(len(drawings), 1, height_ratios=heights, squeeze=False)
        for axes, drawing, one in zip(rows[:, 0], drawings, painted, strict=True):
            one.paint(axes)
            axes.set_title(drawing.title, fontsize=13, loc="left")
    plot.alt = " ".join(drawing.alt for drawing in drawings)
    return plot


def _painted(drawing: Drawing) -> Painted:
    if not isinstance(drawing.svg, Painted):
        raise ValueError(f"svg must be drawn by gossamer to be had as a figure, got a {type(drawing.svg).__name__}")
    return drawing.svg
