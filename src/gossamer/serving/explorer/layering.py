"""Where the boxes of a graph go: rows by the longest way from an input, columns so that few arrows cross."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

SWEEPS = 6
LANE = 0.4  # columns that an arrow takes on its way through a row

Place = tuple[float, int]


def layered(count: int, arrows: Sequence[tuple[int, int]]) -> tuple[list[Place], list[list[Place]]]:
    """Return a place (column, row) for each box, and for each arrow the places between its ends.

    Boxes are numbered in an order in which they can be computed: arrows go from smaller numbers to larger ones. After
    Sugiyama, Tagawa and Toda (1981): an arrow over several rows gets a lane in each of them, and every row is ordered
    by the mean place of what is joined to it, downwards and upwards in turn.

    >>> layered(3, [(0, 1), (1, 2)])[0]
    [(0.0, 0), (0.0, 1), (0.0, 2)]
    """
    rows = _rows(count, arrows)
    row_of, joined, lanes = list(rows), [list[int]() for _ in range(count)], list[list[int]]()
    for source, target in arrows:
        chain = [source]
        for row in range(rows[source] + 1, rows[target]):
            row_of.append(row)
            joined.append([])
            chain.append(len(row_of) - 1)
        lanes.append(chain[1:])
        for one, other in zip(chain, [*chain[1:], target], strict=True):
            joined[one].append(other)
            joined[other].append(one)
    levels = [list[int]() for _ in range(max(row_of, default=-1) + 1)]
    for box, row in enumerate(row_of):
        levels[row].append(box)
    columns = _columns(levels, joined, row_of, count)
    places = [(columns[box], row) for box, row in enumerate(row_of)]
    return places[:count], [[places[lane] for lane in chain] for chain in lanes]


def _rows(count: int, arrows: Sequence[tuple[int, int]]) -> list[int]:
    rows = [0] * count
    for source, target in sorted(arrows, key=lambda arrow: arrow[1]):
        if not 0 <= source < target < count:
            raise ValueError(f"arrows must go from smaller numbers to larger ones below {count}, got {source, target}")
        rows[target] = max(rows[target], rows[source] + 1)
    return rows


def _columns(levels: list[list[int]], joined: list[list[int]], row_of: Sequence[int], count: int) -> dict[int, float]:
    """Return the column of every box and lane, rows ordered by turns and then drawn towards their neighbours."""
    columns: dict[int, float] = {}
    for level in levels:
        _spread(level, columns, count)
    for sweep in range(SWEEPS):
        step = 1 if sweep % 2 == 0 else -1
        for level in levels[::step]:
            wanted = {}
            for box in level:
                near = [columns[other] for other in joined[box] if (row_of[other] - row_of[box]) * step < 0]
                wanted[box] = fmean(near) if near else columns[box]
            level.sort(key=wanted.__getitem__)
            _spread(level, columns, count, wanted)
    left = min(columns.values(), default=0.0)
    return {box: round(column - left, 3) for box, column in columns.items()}


def _spread(level: list[int], columns: dict[int, float], count: int, wanted: dict[int, float] | None = None) -> None:
    """Give the boxes of a row, in their order, columns as near to the wanted ones as their widths allow."""
    widths = [1.0 if box < count else LANE for box in level]
    place, placed = float("-inf"), []
    for box, width in zip(level, widths, strict=True):
        place = max(place + width / 2, (wanted or {}).get(box, 0.0))
        placed.append(place)
        place += width / 2
    # Boxes that were pushed aside all went to the right: half of that is given back.
    pushed = fmean([at - (wanted or {}).get(box, 0.0) for at, box in zip(placed, level, strict=True)])
    for at, box in zip(placed, level, strict=True):
        columns[box] = at - pushed
