"""The drawings of a report: long tails, training curves, intervals and histograms, as SVG with a spoken description."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter

from gossamer.report.blocks import Drawing
from gossamer.report.numbers import format_number, format_share, shared_decimals
from gossamer.report.svg import INK, SERIES_COLOURS, draw_svg, short_label

_MAX_POINTS = 200  # more would only make the file larger
_NOT_CURVES = {"epoch", "step", "steps", "seconds"}
# One fewer than the colours, so that a pair of both comes back only after twelve.
_MARKERS = ("o", "s", "^", "D", "v")  # five, so that all three come back together only after sixty
_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)))


def long_tail(counts: np.ndarray, label: str = "items", counted: str = "interactions") -> tuple[Drawing, ...]:
    """Show how unevenly `counted` fall on `label`: count by rank, both in logarithms, and the cumulative share.

    `counts` (M,) holds one number per item; what never occurs is left out of the ranks, not of the shares.
    """
    all_counts = np.nan_to_num(np.asarray(counts, dtype=np.float64).ravel(), posinf=0.0, neginf=0.0)
    falling = np.sort(all_counts[all_counts > 0])[::-1]
    if falling.size == 0:
        return (_empty(f"{_capital(counted)} by rank", f"No {counted} to show."),)
    return _draw_ranks(falling, label, counted), _draw_shares(falling, all_counts.size, label, counted)


def training_curves(history: Sequence[Mapping[str, Any]]) -> tuple[Drawing, ...]:
    """Show every named value of a training history by epoch; losses share one drawing, the others have their own."""
    names = list(dict.fromkeys(name for values in history for name in values if name not in _NOT_CURVES))
    losses = [name for name in names if "loss" in name.lower()]
    groups = ([losses] if losses else []) + [[name] for name in names if name not in losses]
    epochs = np.array([_real(values.get("epoch", row)) for row, values in enumerate(history)]) + 1
    drawings = []
    for group in groups:
        curves = {name: np.array([_real(values.get(name)) for values in history]) for name in group}
        drawings.append(_draw_curves(epochs, curves))
    return tuple(drawings)


def metric_intervals(
    table: Mapping[str, Mapping[str, tuple[float, float, float]]], best: Mapping[str, str] | None = None
) -> tuple[Drawing, ...]:
    """Show the mean and the interval of every model, one drawing per metric.

    `table[model][metric]` is (mean, low, high), NaN for unknown; `best[metric]` is "min" where lower is better.
    """
    metrics = list(dict.fromkeys(metric for scores in table.values() for metric in scores))
    unknown = (math.nan, math.nan, math.nan)
    return tuple(
        _draw_intervals(
            metric,
            {model: scores.get(metric, unknown) for model, scores in table.items()},
            min if (best or {}).get(metric) == "min" else max,
        )
        for metric in metrics
    )


def size_curves(metric: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> Drawing:
    """Show a metric against the number of values stored, in logarithms: one curve of (values, metric) per method."""

    def paint(axes: Axes) -> None:
        for row, (method, points) in enumerate(curves.items()):
            sizes, found = zip(*points, strict=True)
            axes.plot(
                sizes,
                found,
                color=SERIES_COLOURS[row % len(SERIES_COLOURS)],
                linestyle=_DASHES[row % len(_DASHES)],
                marker=_MARKERS[row % len(_MARKERS)],
                label=short_label(method),
                linewidth=1.6,
            )
        axes.set_xscale("log")
        write_powers(axes.xaxis)
        axes.set_xlabel("values stored")
        axes.set_ylabel(short_label(metric))
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=11)

    described = "; ".join(
        f"{method} " + ", ".join(f"{format_number(found)} at {size:,.0f}" for size, found in points)
        for method, points in curves.items()
    )
    height = max(250, 20 * len(curves))
    return Drawing(f"{metric} by size", draw_svg(paint, height), f"{metric} against values stored: {described}.")


def histogram(values: np.ndarray, label: str, counted: str = "users", *, is_log: bool = False) -> tuple[Drawing, ...]:
    """Show how `values` are distributed: a bar per value where there are few, else (logarithmic) bins."""
    numbers = np.asarray(values, dtype=np.float64).ravel()
    numbers = numbers[np.isfinite(numbers) & ((numbers > 0) | (not is_log))]
    title = f"{_capital(counted)} by {label}"
    if numbers.size == 0:
        return (_empty(title, f"No {counted} to show."),)
    distinct = np.unique(numbers)
    has_bars = distinct.size <= 12
    low, high = float(distinct[0]), float(distinct[-1])
    if has_bars:
        heights = np.array([np.count_nonzero(numbers == value) for value in distinct])
    else:
        heights, edges = np.histogram(numbers, _log_bins(low, high) if is_log else 24)

    def paint(axes: Axes) -> None:
        if has_bars:
            axes.bar(np.arange(distinct.size), heights, width=0.72, color=SERIES_COLOURS[0], alpha=0.85)
            axes.set_xticks(np.arange(distinct.size), [f"{value:g}" for value in distinct])
        else:
            axes.stairs(heights, edges, fill=True, color=SERIES_COLOURS[0], alpha=0.85)
        if is_log and not has_bars:
            axes.set_xscale("log")
            write_powers(axes.xaxis)
        axes.set_xlabel(label)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))

    middle = float(np.median(numbers))
    alt = f"Histogram of {label} over {numbers.size:,} {counted}: from {low:g} to {high:g}, median {middle:g}."
    return (Drawing(title, draw_svg(paint), alt),)


def _draw_ranks(falling: np.ndarray, label: str, counted: str) -> Drawing:
    # At most _MAX_POINTS ranks, dense at the front where each one matters.
    ranks = np.unique(np.round(np.geomspace(1, falling.size, _MAX_POINTS)).astype(int))
    shown = falling[ranks - 1]

    def paint(axes: Axes) -> None:
        axes.loglog(ranks, shown, color=SERIES_COLOURS[0], marker="o" if ranks.size == 1 else "")
        axes.fill_between(ranks, shown, shown[-1] * 0.8, color=SERIES_COLOURS[0], alpha=0.12, linewidth=0)
        axes.set_xlabel(f"rank of {label}, most frequent first")
        for axis in (axes.xaxis, axes.yaxis):
            write_powers(axis)

    alt = (
        f"{_capital(counted)} of each of {falling.size:,} {label} by rank, on logarithmic axes: "
        f"from {falling[0]:,.0f} for the most frequent to {falling[-1]:,.0f} for the rarest."
    )
    return Drawing(f"{_capital(counted)} by rank", draw_svg(paint), alt)


def _draw_shares(falling: np.ndarray, num_items: int, label: str, counted: str) -> Drawing:
    held = np.concatenate([[0.0], np.cumsum(falling) / falling.sum(), [1.0]])
    of_items = np.concatenate([np.arange(falling.size + 1) / num_items, [1.0]])
    shown = np.unique(np.linspace(0, falling.size + 1, _MAX_POINTS).astype(int))
    top = max(1, round(0.1 * num_items))
    top_of_items, top_held = top / num_items, float(held[min(top, falling.size)])
    claim = f"top {format_share(top_of_items)} hold {format_share(top_held)}"

    def paint(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=INK, alpha=0.35, linewidth=1.2, linestyle=(0, (2, 3)))
        axes.plot(of_items[shown], held[shown], color=SERIES_COLOURS[0])
        axes.plot([top_of_items], [top_held], "o", color=SERIES_COLOURS[1], markersize=7)
        axes.annotate(claim, (top_of_items, top_held), xytext=(12, -14), textcoords="offset points", fontsize=12)
        axes.set_xlabel(f"share of {label}")
        axes.set(xlim=(0, 1), ylim=(0, 1.03))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(1, symbol=" %"))

    title = f"Share held by the top {label}"
    return Drawing(title, draw_svg(paint), f"Cumulative share of {counted}: of the {label}, the {claim}.")


def _draw_curves(epochs: np.ndarray, curves: Mapping[str, np.ndarray]) -> Drawing:
    def paint(axes: Axes) -> None:
        for row, (name, values) in enumerate(curves.items()):
            colour = SERIES_COLOURS[row % len(SERIES_COLOURS)]
            known = np.isfinite(values)
            marker = "o" if known.sum() <= 30 else ""
            dashes = _DASHES[row % len(_DASHES)]
            axes.plot(epochs, np.where(known, values, np.nan), color=colour, linestyle=dashes, marker=marker, ms=4)
            if len(curves) > 1:
                # A legend of our own: matplotlib's leaves out names that begin with "_".
                top, place = 0.96 - 0.1 * row, axes.transAxes
                axes.plot([0.9, 1], [top, top], color=colour, linestyle=dashes, transform=place)
                axes.text(0.88, top, short_label(name), transform=place, ha="right", va="center", fontsize=12)
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.margins(y=0.12)

    title = next(iter(curves)) if len(curves) == 1 else "losses"
    described = " ".join(_describe_curve(name, values) for name, values in curves.items())
    return Drawing(title, draw_svg(paint), described)


def _describe_curve(name: str, values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    if known.size == 0:
        return f"{name}: no values."
    return (
        f"{name} over {known.size} epochs: from {format_number(float(known[0]))} to {format_number(float(known[-1]))}."
    )


def _draw_intervals(
    metric: str, scores: Mapping[str, tuple[float, float, float]], choose: Callable[..., float]
) -> Drawing:
    rows = [(model, float(mean), float(low), float(high)) for model, (mean, low, high) in scores.items()]
    means = [mean for _, mean, _, _ in rows]
    decimals = shared_decimals(means)
    winner = choose((mean for mean in means if math.isfinite(mean)), default=math.nan)

    def paint(axes: Axes) -> None:
        for row, (_, mean, low, high) in enumerate(rows):
            if not math.isfinite(mean):
                continue
            if math.isfinite(low) and math.isfinite(high):
                axes.plot([low, high], [row, row], color=SERIES_COLOURS[0], linewidth=5, alpha=0.5)
            axes.plot([mean], [row], "o", color=SERIES_COLOURS[0], markersize=8)
            axes.text(
                1.02, row, format_number(mean, decimals), transform=axes.get_yaxis_transform(), va="center",
                fontsize=12, fontweight="bold" if mean == winner else "normal",
            )  # fmt: skip
        axes.set_yticks(range(len(rows)), [short_label(model, 18) for model, *_ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.margins(x=0.08)
        axes.xaxis.set_major_locator(MaxNLocator(4))

    described = "; ".join(
        f"{model} {format_number(mean, decimals)} ({format_number(low, decimals)} to {format_number(high, decimals)})"
        for model, mean, low, high in rows
    )
    return Drawing(metric, draw_svg(paint, height=46 + 30 * len(rows)), f"{metric} with 95 % intervals: {described}.")


def _empty(title: str, message: str) -> Drawing:
    def paint(axes: Axes) -> None:
        axes.set_axis_off()
        axes.text(0.5, 0.5, message, transform=axes.transAxes, ha="center", va="center", fontsize=12)

    return Drawing(title, draw_svg(paint, height=120), message)


def _log_bins(low: float, high: float) -> np.ndarray:
    """Return edges that grow by a factor, and lie between whole numbers from 1 on: counts have no bins of width 0.3."""
    if low < 1 or high - low < 1:
        return np.geomspace(low, max(high, low * 1.01), 25)
    return np.unique(np.round(np.geomspace(low, high + 1, 25))) - 0.5


def write_powers(axis: Axis) -> None:
    """Write 1000 as 1k on a logarithmic axis: shorter than a power, and no mathematics to typeset."""

    def write(value: float, _: int | None = None) -> str:
        for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
            if value >= size:
                return f"{value / size:g}{unit}"
        return f"{value:g}"

    axis.set_major_formatter(FuncFormatter(write))
    axis.set_minor_formatter(NullFormatter())


def _real(value: Any) -> float:
    return math.nan if value is None else float(value)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
