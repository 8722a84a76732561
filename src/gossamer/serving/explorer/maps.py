"""The map of a space: places, names and colours of all points, packed for a browser."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.colouring import Choice, colour_choices, colour_points
from gossamer.serving.explorer.directions import Ends, farthest_pair, places_between
from gossamer.serving.explorer.groups import largest
from gossamer.serving.explorer.knowledge import Knowledge
from gossamer.serving.explorer.projection import PROJECTIONS, variance_shares

MOST_POINTS = 30_000  # that a page draws; beyond them, those that come most often
MOST_BY_TSNE = 5_000  # which takes a core half a minute
DIRECTIONS = "directions"  # axes from one name to another, beside those of `project`
NUM_COMPONENTS = 10  # that a reader can choose from


@dataclass(frozen=True)
class PointMap:
    """Points of a vocabulary: little-endian float32, `len(axes)` for each point, in base64, and one name each.

    `axes` are the numbers of the components that are shown, from 1 on, and `variance` which share of all variance each
    component that could be shown has; none for a layout. `ends` are the names between which the axes of "directions"
    run, left, right, below and above; the last two are empty where up is what else differs. `chosen_by` says which
    names are shown where not all are.
    `colours` (uint8 in base64) says to which entry of the `legend` a point belongs, 255 to none of them.
    """

    kind: str
    projection: str
    meaning: str
    num_points: int
    total: int
    chosen_by: str
    axes: list[int]
    variance: list[float]
    ends: list[str]
    coordinates: str
    names: list[str]
    measures: list[str]
    colour: str
    colour_choices: list[Choice]
    colours: str | None
    legend: list[str]
    legend_noun: str
    is_amount: bool


def make_map(
    knowledge: Knowledge,
    kind: str,
    projection: str = "pca",
    axes: Sequence[int] = (1, 2),
    colour: str | None = None,
    ends: Ends | None = None,
) -> PointMap:
    """Return the map of a vocabulary in one projection, on a plane or, with three `axes`, in a room.

    `axes` number the components of "pca"; of layouts only how many there are counts. The axes of "directions", two,
    run between `ends`. A NotFound where the model has no vectors for the vocabulary.
    """
    check_choice("projection", projection, [*PROJECTIONS, DIRECTIONS])
    space = knowledge.spaces.get(kind)
    if space is None:
        drawn = ", ".join(knowledge.spaces)
        raise NotFound(
            f"This model has no map of {kind!r:.80}: it keeps no vectors of them."
            + (f" It has maps of {drawn}." if drawn else "")
        )
    total = len(space.vectors)
    rows, chosen_by = _shown(knowledge, kind, total, MOST_BY_TSNE if projection == "tsne" else MOST_POINTS)
    count = min(NUM_COMPONENTS, max(3, space.vectors.shape[1]))
    chosen = check_axes(axes, {"pca": count, DIRECTIONS: 2}.get(projection, 3))
    variance: list[float] = []
    named: list[str] = []
    if projection == "pca":
        components = knowledge.projected(kind, projection, rows, count)
        places = components[:, [axis - 1 for axis in chosen]]
        variance = variance_shares(space.vectors[rows], components)
    elif projection == DIRECTIONS:
        places, named = _between(knowledge, kind, rows, ends or Ends())
    else:
        places = knowledge.projected(kind, projection, rows, len(chosen))
    colouring = colour_points(knowledge, kind, rows, colour)
    ids = knowledge.vocabularies[kind].ids.gather(rows)
    return PointMap(
        kind=kind,
        projection=projection,
        meaning=space.meaning,
        num_points=len(rows),
        total=total,
        chosen_by=chosen_by,
        axes=chosen,
        variance=variance,
        ends=named,
        coordinates=_packed(places.astype("<f4")),
        names=[str(name) for name in ids],
        measures=list(space.measures),
        colour=colouring.key,
        colour_choices=colour_choices(knowledge, kind),
        colours=None if colouring.colours is None else _packed(colouring.colours),
        legend=colouring.legend,
        legend_noun=colouring.noun,
        is_amount=colouring.is_amount,
    )


def check_axes(axes: Sequence[int], count: int) -> list[int]:
    """Return two or three different numbers from 1 to `count`, else raise a ValueError.

    >>> check_axes([1, 1], 10)
    Traceback (most recent call last):
    ValueError: axes must be 2 or 3 different numbers from 1 to 10, got [1, 1]
    """
    chosen = [int(axis) for axis in axes]
    if len(chosen) not in (2, 3) or len(set(chosen)) < len(chosen) or not all(1 <= axis <= count for axis in chosen):
        raise ValueError(f"axes must be 2 or 3 different numbers from 1 to {count}, got {chosen}")
    return chosen


def _between(knowledge: Knowledge, kind: str, rows: np.ndarray, ends: Ends) -> tuple[np.ndarray, list[str]]:
    """Return places along axes of the reader's own, and the names at their ends; by default, those farthest apart."""
    vectors, across, up = knowledge.spaces[kind].vectors, ends.across, ends.up
    if across is None:
        left, right = farthest_pair(vectors[rows])
        across = knowledge.name_of(kind, int(rows[left])), knowledge.name_of(kind, int(rows[right]))
    found = [None if pair is None else _vectors_of(knowledge, kind, pair) for pair in (across, up)]
    assert found[0] is not None
    return places_between(vectors[rows], found[0], found[1]), [*across, *(up or ("", ""))]


def _vectors_of(knowledge: Knowledge, kind: str, pair: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    begin, end = (knowledge.spaces[kind].vectors[knowledge.index_of(kind, name)] for name in pair)
    return begin, end


def _shown(knowledge: Knowledge, kind: str, total: int, most: int) -> tuple[np.ndarray, str]:
    """Return the rows that are drawn, and in words how they were chosen, where some are not."""
    if total <= most:
        return np.arange(total), ""
    counts = knowledge.frequencies.get(kind)
    if counts is None:
        return np.linspace(0, total - 1, most).astype(np.int64), "evenly chosen"
    return np.sort(largest(np.asarray(counts, dtype=np.float64), most)), "the most frequent"


def _packed(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
