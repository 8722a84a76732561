"""Where a budget went: what is left of each layer's multiply-adds and parameters (figure 2.5 of the dissertation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from gossamer.report.blocks import Drawing
from gossamer.report.svg import SERIES_COLOURS, draw_svg, short_label

_ROW_HEIGHT = 20


def draw_layer_shares(rows: Sequence[Mapping[str, Any]]) -> Drawing:
    """Show for every layer how much of its multiply-adds and parameters is left; rows are a compression report's."""
    title = "What is left of each layer"
    names = [short_label(row["layer"]) for row in rows]
    shares = {what: np.array([float(row[f"{what} left"]) for row in rows]) for what in ("macs", "params")}
    places = np.arange(len(rows))

    def paint(axes: Axes) -> None:
        for number, (what, values) in enumerate(shares.items()):
            axes.barh(places + 0.4 * number - 0.2, values, height=0.36, color=SERIES_COLOURS[number], label=what)
        axes.set_yticks(places, names)
        axes.invert_yaxis()
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set_xlabel("left after compression")
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)

    described = "; ".join(f"{row['layer']} {float(row['macs left']):.0%}" for row in rows)
    svg = draw_svg(paint, height=110 + _ROW_HEIGHT * len(rows))
    return Drawing(title, svg, f"{title}, in multiply-adds: {described}.")
