"""Drawings of communities: where they lie, precision against recall, and whether probabilities are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes

from gossamer.report.blocks import Drawing
from gossamer.report.svg import INK, SERIES_COLOURS, draw_svg

_FEWEST_FOR_TSNE = 8
_LARGEST_DOT = 300.0  # square points


def principal_places(space: Float[np.ndarray, "K D"], count: int = 3) -> Float[np.ndarray, "K count"]:
    """Return the first principal components of centred embeddings of unit length; missing ones are zero."""
    unit = space / np.maximum(np.linalg.norm(space, axis=1, keepdims=True), 1e-12)
    left, values, right = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    kept = min(count, len(values))
    # A component's sign is arbitrary: its largest loading is made positive.
    largest = np.argmax(np.abs(right[:kept]), axis=1)
    signs = np.where(right[np.arange(kept), largest] < 0, -1.0, 1.0)
    places = np.zeros((len(space), count))
    places[:, :kept] = left[:, :kept] * values[:kept] * signs
    return places


def neighbour_places(space: Float[np.ndarray, "K D"]) -> Float[np.ndarray, "K 2"]:
    """Return places on a plane by t-SNE, started from principal components; these alone where there are few."""
    start = principal_places(space, 2)
    spread = float(start[:, 0].std())
    if len(space) < _FEWEST_FOR_TSNE or spread < 1e-9:
        return start
    from sklearn.manifold import TSNE  # here, because it takes longer to import than most pages to write

    moved: np.ndarray = TSNE(
        init=(start / spread * 1e-4).astype(np.float32),
        perplexity=min(10.0, (len(space) - 1) / 3),
        learning_rate="auto",
        random_state=0,
        n_jobs=1,
    ).fit_transform(space)
    return moved


def community_maps(space: Float[np.ndarray, "K D"], sizes: Int[np.ndarray, " K"]) -> tuple[Drawing, ...]:
    """Show communities as dots as large as their membership: by t-SNE, and by the first three principal components."""
    components = principal_places(space, 3)
    return (
        _dots("Communities by t-SNE", neighbour_places(space), sizes, ("", "")),
        _dots("Components 1 and 2", components[:, [0, 1]], sizes, ("component 1", "component 2")),
        _dots("Components 1 and 3", components[:, [0, 2]], sizes, ("component 1", "component 3")),
    )


def precision_recall(curves: Mapping[str, Sequence[tuple[float, float]]]) -> Drawing:
    """Show precision against recall, a curve per model."""
    described = "; ".join(
        f"{model} from {points[0][1]:.2f} at recall {points[0][0]:.2f} to {points[-1][1]:.2f} at {points[-1][0]:.2f}"
        for model, points in curves.items()
    )
    return _lines("Precision by recall", curves, ("recall", "precision"), f"Precision by recall: {described}.")


def calibration(curves: Mapping[str, Sequence[tuple[float, float]]]) -> Drawing:
    """Show the share of targets against the predicted probability; right probabilities lie on the dotted line."""
    described = "; ".join(
        f"{model} says {points[-1][0]:.2f} of its likeliest tenth, of which {points[-1][1]:.2f} are targets"
        for model, points in curves.items()
    )
    names = ("predicted probability", "share of targets")
    return _lines("Calibration", curves, names, f"Calibration: {described}.", has_diagonal=True)


def _dots(title: str, places: np.ndarray, sizes: np.ndarray, names: tuple[str, str]) -> Drawing:
    areas = 12 + _LARGEST_DOT * sizes / max(1, int(sizes.max(initial=1)))

    def paint(axes: Axes) -> None:
        axes.scatter(places[:, 0], places[:, 1], s=areas, color=SERIES_COLOURS[0], alpha=0.55, linewidths=0)
        for number, place in enumerate(places):
            axes.annotate(str(number), tuple(place), ha="center", va="center", fontsize=9)
        axes.set_xlabel(names[0])
        axes.set_ylabel(names[1])
        axes.margins(0.12)
        if not names[0]:
            axes.set_axis_off()

    largest = ", ".join(f"{number} with {sizes[number]:,}" for number in np.argsort(-sizes, kind="stable")[:3])
    alt = f"{title}: {len(sizes)} communities, the largest are {largest} members."
    return Drawing(title, draw_svg(paint, height=300), alt)


def _lines(
    title: str,
    curves: Mapping[str, Sequence[tuple[float, float]]],
    names: tuple[str, str],
    alt: str,
    *,
    has_diagonal: bool = False,
) -> Drawing:
    def paint(axes: Axes) -> None:
        if has_diagonal:
            axes.plot([0, 1], [0, 1], color=INK, alpha=0.45, linewidth=1.2, linestyle=(0, (2, 3)))
        lines = []
        for row, points in enumerate(curves.values()):
            across, up = zip(*points, strict=True)
            marker = "o" if len(points) <= 30 else ""
            lines += axes.plot(across, up, color=SERIES_COLOURS[row % len(SERIES_COLOURS)], marker=marker, markersize=4)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=names[0], ylabel=names[1])
        if len(lines) > 1:
            axes.legend(lines, [" " + name for name in curves], frameon=False, fontsize=11)

    return Drawing(title, draw_svg(paint), alt)
