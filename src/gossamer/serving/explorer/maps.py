"""The map of a space: places, names and groups of all points, packed for a browser."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.groups import largest
from gossamer.serving.explorer.knowledge import Knowledge

MOST_POINTS = 30_000  # that a page draws; beyond them, those that come most often
NUM_COLOURED = 4  # groups that have a colour of their own: more could not be told apart by everybody


@dataclass(frozen=True)
class PointMap:
    """Points of a vocabulary: little-endian float32 x, y, x, y … in base64, and one name each.

    `chosen_by` says which names are shown where not all are, and is empty where all are.
    `colours` (uint8 in base64) says to which of the `legend` groups a point belongs most, 255 to none of them.
    """

    kind: str
    projection: str
    meaning: str
    num_points: int
    total: int
    chosen_by: str
    coordinates: str
    names: list[str]
    colours: str | None
    legend: list[str]
    legend_noun: str


def make_map(knowledge: Knowledge, kind: str, projection: str = "pca") -> PointMap:
    """Return the map of a vocabulary in one projection; a NotFound where the model has no vectors for it."""
    space = knowledge.spaces.get(kind)
    if space is None:
        drawn = ", ".join(knowledge.spaces)
        raise NotFound(
            f"This model has no map of {kind!r:.80}: it keeps no vectors of them."
            + (f" It has maps of {drawn}." if drawn else "")
        )
    total = len(space.vectors)
    rows, chosen_by = _shown(knowledge, kind, total)
    places = knowledge.projected(kind, projection, rows)
    colours, legend, noun = _colours(knowledge, kind, rows)
    ids = knowledge.vocabularies[kind].ids.gather(rows)
    return PointMap(
        kind=kind,
        projection=projection,
        meaning=space.meaning,
        num_points=len(rows),
        total=total,
        chosen_by=chosen_by,
        coordinates=_packed(places.astype("<f4")),
        names=[str(name) for name in ids],
        colours=None if colours is None else _packed(colours),
        legend=legend,
        legend_noun=noun,
    )


def _shown(knowledge: Knowledge, kind: str, total: int) -> tuple[np.ndarray, str]:
    """Return the rows that are drawn, and in words how they were chosen, where some are not."""
    if total <= MOST_POINTS:
        return np.arange(total), ""
    counts = knowledge.frequencies.get(kind)
    if counts is None:
        return np.linspace(0, total - 1, MOST_POINTS).astype(np.int64), "evenly chosen"
    return np.sort(largest(np.asarray(counts, dtype=np.float64), MOST_POINTS)), "the most frequent"


def _colours(knowledge: Knowledge, kind: str, rows: np.ndarray) -> tuple[np.ndarray | None, list[str], str]:
    """Return which of the groups with most points each point belongs to, and what to call them."""
    groups = next((groups for groups in knowledge.groups if groups.kind == kind and len(groups) > 1), None)
    if groups is None:
        return None, [], ""
    strongest = groups.strongest_of_all()[rows]
    counts = np.bincount(strongest[strongest >= 0], minlength=len(groups))
    chosen = largest(counts, NUM_COLOURED)
    chosen = chosen[counts[chosen] > 0]
    colours = np.full(len(rows), 255, dtype=np.uint8)
    for place, number in enumerate(chosen):
        colours[strongest == number] = place
    titles = knowledge.titles(groups)
    return colours, [f"{groups.noun} {groups.label(int(one))}: {titles[int(one)]}" for one in chosen], groups.noun


def _packed(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
