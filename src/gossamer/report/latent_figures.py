"""Drawings of latent spaces: singular values, KL against rare terms, gains by vocabulary size, values over epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from gossamer.report.blocks import Drawing
from gossamer.report.numbers import format_number
from gossamer.report.svg import INK, SERIES_COLOURS, draw_svg, short_label

_MAX_DOTS = 500  # of a cloud; more would only make the file larger
_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)))  # one fewer than the colours: a pair of both comes back after twelve


class Curve(NamedTuple):
    """Points of a line, from left to right."""

    across: Sequence[float] | np.ndarray
    up: Sequence[float] | np.ndarray


def singular_value_curves(
    spectra: Mapping[str, np.ndarray], threshold: float = 1.0, *, title: str = "Singular values"
) -> Drawing:
    """Show falling singular values, one curve per spectrum, in logarithms, and the threshold as a dotted line."""
    curves, described = {}, []
    for name, values in spectra.items():
        found = np.asarray(values, dtype=np.float64)
        used = int((found > threshold).sum())
        described.append(f"{name}, {used} of {len(found)} above {threshold:g}")
        # The logarithm of what is only rounding says nothing, that of 0 does not exist.
        is_drawn = np.isfinite(found) & (found > 1e-12)
        curves[name] = Curve(np.flatnonzero(is_drawn) + 1, found[is_drawn])
    alt = f"{title} of the Jacobian of the log-probabilities, largest first: {'; '.join(described)}."
    return _draw_lines(title, curves, alt, "latent dimension, by rank", level=threshold, is_log_up=True)


def rare_term_cloud(num_rare: np.ndarray, kl: np.ndarray, rho: float | None) -> Drawing:
    """Show how far refinement moves each document's posterior (KL in nats) against its number of rare terms."""
    across, up = np.asarray(num_rare, dtype=np.float64), np.asarray(kl, dtype=np.float64)
    known = np.isfinite(across) & np.isfinite(up)
    across, up = across[known], up[known]
    inside = np.flatnonzero((across <= _far_end(across)) & (up <= _far_end(up)))
    num_outside = len(up) - len(inside)
    # Every so-manieth by KL, so that both ends of the cloud stay.
    order = inside[np.argsort(up[inside], kind="stable")]
    shown = order[np.unique(np.linspace(0, len(order) - 1, _MAX_DOTS).astype(int))] if len(order) else order

    def paint(axes: Axes) -> None:
        axes.plot(across[shown], up[shown], "o", color=SERIES_COLOURS[0], alpha=0.35, markersize=4, markeredgewidth=0)
        if num_outside:
            note = f"{num_outside:,} farther out"
            axes.text(0.99, 0.97, note, transform=axes.transAxes, ha="right", va="top", fontsize=11)
        axes.set_xlabel("rare terms in the document")
        axes.set_ylabel("KL, nats")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.margins(0.04)

    correlation = "no rank correlation defined" if rho is None or math.isnan(rho) else f"Spearman's rho {rho:.2f}"
    alt = (
        f"KL of the encoder's posterior from the refined one against rare terms, {len(up):,} documents: {correlation}."
    )
    return Drawing("KL by number of rare terms", draw_svg(paint), alt)


def gain_curves(gains: Mapping[str, Sequence[tuple[int, float]]]) -> Drawing:
    """Show the share of perplexity that refined training takes away, by number of terms: (terms, gain) per part."""
    curves = {part: Curve(*zip(*sorted(points), strict=True)) for part, points in gains.items() if points}
    described = "; ".join(
        f"{part} " + ", ".join(f"{100 * gain:.1f} % at {size:,}" for size, gain in sorted(points))
        for part, points in gains.items()
        if points
    )
    return _draw_lines(
        "Gain by vocabulary size",
        curves,
        f"Share of the perplexity that refined training takes away, by number of terms: {described}.",
        "terms",
        is_share=True,
        level=0.0,
    )


def epoch_curves(title: str, curves: Mapping[str, Curve]) -> Drawing:
    """Show a value over epochs for several models, such as perplexity refined early and late, or directions used."""
    described = "; ".join(
        f"{name} from {format_number(float(curve.up[0]))} to {format_number(float(curve.up[-1]))}"
        for name, curve in curves.items()
        if len(curve.up)
    )
    return _draw_lines(title, curves, f"{title} by epoch: {described or 'no values'}.", "epoch")


def _far_end(values: np.ndarray) -> float:
    """Return where to end an axis: at the largest value that is not far beyond the 99th percentile."""
    if values.size == 0:
        return 0.0
    most = float(np.quantile(values, 0.99))
    return float(values[values <= 1.5 * most].max() if most > 0 else values.max())


def _draw_lines(
    title: str,
    curves: Mapping[str, Curve],
    alt: str,
    across: str,
    *,
    level: float | None = None,
    is_log_up: bool = False,
    is_share: bool = False,
) -> Drawing:
    def paint(axes: Axes) -> None:
        if level is not None:
            axes.axhline(level, color=INK, alpha=0.45, linewidth=1.2, linestyle=(0, (2, 3)))
        lines = []
        for row, curve in enumerate(curves.values()):
            marker = "o" if len(curve.across) <= 30 else ""
            lines += axes.plot(
                curve.across,
                curve.up,
                color=SERIES_COLOURS[row % len(SERIES_COLOURS)],
                linestyle=_DASHES[row % len(_DASHES)],
                marker=marker,
                markersize=4,
            )
        if is_log_up and any(len(curve.up) for curve in curves.values()):
            axes.set_yscale("log")
            low, high = axes.get_ylim()
            if high < 50 * low:  # powers of ten alone would leave the axis with a tick or none
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        if is_share:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
        axes.set_xlabel(across)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        if len(lines) > 1:
            # The space is for names that begin with "_", which matplotlib leaves out.
            axes.legend(lines, [" " + short_label(name) for name in curves], frameon=False, fontsize=11)

    return Drawing(title, draw_svg(paint), alt)
