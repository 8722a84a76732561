"""Drawings of sparse codes: observations beside their reconstructions, what features mean, a map of all codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Num
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from scipy import sparse

from gossamer.report.blocks import Drawing
from gossamer.report.svg import INK, SERIES_COLOURS, WIDTH, draw_svg, short_label

MAX_DOTS = 500  # of a map; more would take longer to place and hide each other
_MAX_CLASSES = 12
_MARKERS = ("o", "s", "^")  # each with every colour before the next: twelve pairs
_SHADES = 8  # of a picture
_NEIGHBOURS = 30.0  # t-SNE's perplexity


def picture_rows(title: str, rows: Sequence[Num[np.ndarray, "n ..."]], names: Sequence[str], alt: str) -> Drawing:
    """Show pictures (n, height, width) in rows of n, each row with its name; all share one scale of grey.

    Observations that are no pictures (n, D) are shown as stripes of D shades.
    """
    shaped = [_as_pictures(row) for row in rows]
    low = min((float(row.min()) for row in shaped if row.size), default=0.0)
    high = max((float(row.max()) for row in shaped if row.size), default=1.0)
    height, width = shaped[0].shape[1:]
    columns = max(len(row) for row in shaped)
    gap = max(1, round(0.06 * max(height, width)))
    mosaic = np.full((len(rows) * (height + gap) - gap, columns * (width + gap) - gap), np.nan)
    for line, row in enumerate(shaped):
        for column, picture in enumerate(row):
            top, left = line * (height + gap), column * (width + gap)
            mosaic[top : top + height, left : left + width] = picture
    is_stripes = np.ndim(rows[0]) < 3

    levels = np.rint((mosaic - low) / max(high - low, 1e-9) * _SHADES)
    levels = np.where(np.isfinite(levels), levels, 0).astype(np.int64)

    def paint(axes: Axes) -> None:
        for level in range(1, _SHADES + 1):
            # As shapes in the ink of the page: its policy allows no images, not even its own.
            is_on = levels == level
            if is_on.any():
                ink = {"facecolor": INK, "edgecolor": "none", "alpha": level / _SHADES}
                axes.add_patch(PathPatch(_outline(is_on), **ink))
        axes.set(xlim=(0, mosaic.shape[1]), ylim=(mosaic.shape[0], 0))
        axes.set_aspect("auto" if is_stripes else "equal")
        axes.grid(visible=False)
        axes.set_xticks([])
        middles = [line * (height + gap) + height / 2 for line in range(len(rows))]
        axes.set_yticks(middles, [short_label(name, 14) for name in names])
        axes.spines["bottom"].set_visible(False)

    tall = 30 * len(rows) if is_stripes else 0.8 * WIDTH * mosaic.shape[0] / mosaic.shape[1]
    return Drawing(title, draw_svg(paint, height=max(60, min(600, 24 + tall))), alt)


def code_map(
    codes: sparse.csr_array, labels: Int[np.ndarray, " N"] | None = None, label_names: Sequence[str] | None = None
) -> Drawing:
    """Show codes on a plane, similar ones (by their cosine) close together, coloured by class where there is one."""
    rows = np.unique(np.linspace(0, codes.shape[0] - 1, min(MAX_DOTS, codes.shape[0])).astype(np.int64))
    places = place_codes(codes[rows])
    groups = [("", np.arange(len(rows)))] if labels is None else _classes(np.asarray(labels)[rows], label_names)

    def paint(axes: Axes) -> None:
        lines = []
        for number, (_, members) in enumerate(groups):
            is_rest = number >= _MAX_CLASSES
            lines += axes.plot(
                places[members, 0],
                places[members, 1],
                _MARKERS[number // len(SERIES_COLOURS) % len(_MARKERS)] if not is_rest else ".",
                color=INK if is_rest else SERIES_COLOURS[number % len(SERIES_COLOURS)],
                alpha=0.3 if is_rest else 0.7,
                markersize=4.5,
                markeredgewidth=0,
            )
        axes.set_axis_off()
        axes.margins(0.03)
        if labels is not None:
            names = [" " + short_label(name, 16) for name, _ in groups]
            axes.legend(lines, names, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=10)

    of_classes = "" if labels is None else f", by class: {', '.join(name for name, _ in groups)}"
    return Drawing("Map of codes", draw_svg(paint, height=300), f"{len(rows):,} codes on a plane{of_classes}.")


def place_codes(codes: sparse.csr_array) -> Float[np.ndarray, "N 2"]:
    """Return places on a plane: the two principal components, moved by t-SNE where there are codes enough.

    Codes are brought to length 1 first. Equal codes give equal places, on every run.
    """
    dense = codes.toarray().astype(np.float64)
    dense /= np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-12)
    centred = dense - dense.mean(axis=0)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(dense), 2))
    kept = min(2, len(values))
    # A component's sign is arbitrary: its largest loading is made positive.
    largest = np.argmax(np.abs(right[:kept]), axis=1)
    signs = np.where(right[np.arange(kept), largest] < 0, -1.0, 1.0)
    places[:, :kept] = left[:, :kept] * values[:kept] * signs
    spread = places[:, 0].std()
    if len(dense) <= 3 * _NEIGHBOURS or spread < 1e-9:
        return places
    from sklearn.manifold import TSNE  # here, because it takes longer to import than most pages to write

    start = (places / spread * 1e-4).astype(np.float32)
    # Brute-force neighbours and one thread: the same map on every run.
    moved: np.ndarray = TSNE(
        init=start, perplexity=_NEIGHBOURS, learning_rate="auto", random_state=0, n_jobs=1
    ).fit_transform(dense)
    return moved


def _outline(is_on: Bool[np.ndarray, "height width"]) -> Path:
    """Return one path around all points that are on, a rectangle for each stretch of a line."""
    edges = np.diff(np.pad(is_on, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    lines, begins = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    corners = [(begins, lines), (ends, lines), (ends, lines + 1), (begins, lines + 1), (begins, lines)]
    vertices = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1).reshape(-1, 2)
    moves = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(vertices.astype(np.float64), np.tile(np.array(moves, dtype=np.uint8), len(lines)))


def _as_pictures(values: Num[np.ndarray, "n ..."]) -> Float[np.ndarray, "n height width"]:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim == 4:  # colours: channels last or first, the mean of which is enough to recognise it
        numbers = numbers.mean(axis=3 if numbers.shape[3] in (3, 4) else 1)
    if numbers.ndim == 3:
        return numbers
    return numbers.reshape(len(numbers), 1, -1)


def _classes(labels: np.ndarray, names: Sequence[str] | None) -> list[tuple[str, np.ndarray]]:
    """Return the classes with their members, the most frequent ones by number, the others as one group."""
    found, counts = np.unique(labels, return_counts=True)
    frequent = np.sort(found[np.argsort(-counts, kind="stable")[:_MAX_CLASSES]])
    groups = [
        (str(label) if names is None else str(names[int(label)]), np.flatnonzero(labels == label)) for label in frequent
    ]
    rest = np.flatnonzero(~np.isin(labels, frequent))
    return [*groups, ("others", rest)] if len(rest) else groups
