"""Size and quality of all runs, from the result records of a folder, and which of them nothing beats at both."""

from __future__ import annotations

import logging
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.runner.records import Record, read_record
from gossamer.runner.search import has_a_best, lower_is_better
from gossamer.serving.errors import NotFound

logger = logging.getLogger(__name__)

COSTS = ("values", "bytes", "seconds", "peak_rss_bytes")  # best small, in the order in which a page offers them


@dataclass(frozen=True)
class Axis:
    """Something that was measured; `lower_is_better` says which way is up."""

    name: str
    lower_is_better: bool


@dataclass(frozen=True)
class Experiment:
    """An experiment, the costs and metrics that its runs have, and how many rows there are."""

    name: str
    costs: list[str]
    metrics: list[Axis]
    rows: int


@dataclass(frozen=True)
class RunPoint:
    """One row of an experiment, the mean over its seeds."""

    row: str
    method: str
    seeds: int
    x: float
    y: float
    is_best: bool


@dataclass(frozen=True)
class Trade:
    """The rows of an experiment by one cost and one metric; those on the front are beaten by none at both."""

    experiment: str
    x: str
    y: Axis
    points: list[RunPoint]
    left_out: int


@dataclass
class Runs:
    """The records below a folder, read again when a file there changes."""

    folder: Path | None
    _seen: tuple[tuple[str, int], ...] = field(default=(), init=False)
    _records: list[Record] = field(default_factory=list, init=False)

    def experiments(self) -> list[Experiment]:
        """Return the experiments that have records, by name; none where there is no folder."""
        found = []
        for name, rows in sorted(self._rows().items()):
            measured = [_measured(runs) for runs in rows.values()]
            names = list(dict.fromkeys(key for values in measured for key in values))
            costs = [cost for cost in COSTS if cost in names]
            metrics = [Axis(key, lower_is_better(key)) for key in names if key not in COSTS and has_a_best(key)]
            found.append(Experiment(name, costs, metrics, len(rows)))
        return found

    def trade(self, experiment: str, x: str, y: str) -> Trade:
        """Return every row of an experiment with cost `x` and metric `y`, and which are on the front."""
        rows = self._rows().get(experiment)
        if rows is None:
            raise NotFound(f"There are no runs of {experiment[:80]!r}.")
        points: list[tuple[str, Record, int, float, float]] = []
        for row, runs in rows.items():
            values = _measured(runs)
            if x in values and y in values:
                points.append((row, runs[0], len(runs), values[x], values[y]))
        if not points:
            raise NotFound(f"No run of {experiment[:80]!r} has both {x[:80]!r} and {y[:80]!r}.")
        axis = Axis(y, lower_is_better(y))
        front = pareto_front([point[3] for point in points], [point[4] for point in points], axis.lower_is_better)
        return Trade(
            experiment=experiment,
            x=x,
            y=axis,
            points=[
                RunPoint(row, first.method, seeds, cost, quality, number in front)
                for number, (row, first, seeds, cost, quality) in enumerate(points)
            ],
            left_out=len(rows) - len(points),
        )

    def _rows(self) -> dict[str, dict[str, list[Record]]]:
        found: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
        for record in self._read():
            found[record.experiment][record.row].append(record)
        return found

    def _read(self) -> list[Record]:
        if self.folder is None or not self.folder.is_dir():
            return []
        paths = sorted(self.folder.glob("*/*.json"))
        seen = tuple((str(path), _changed(path)) for path in paths)
        if seen != self._seen:
            records = []
            for path in paths:
                try:
                    records.append(read_record(path))
                except (ValueError, OSError, TypeError):
                    logger.info("%s is no record of a run: left out", path)  # benchmarks lie beside them
            self._records, self._seen = records, seen
        return self._records


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # gone since it was listed: `gossamer reproduce` works in the same folder
        return 0


def _measured(runs: Sequence[Record]) -> dict[str, float]:
    """Return the mean over seeds of everything that all of them have."""
    values = [{**run.metrics, "seconds": run.seconds, "peak_rss_bytes": float(run.peak_rss_bytes)} for run in runs]
    shared = set.intersection(*(set(one) for one in values))
    return {
        name: statistics.fmean(float(one[name]) for one in values)
        for name in values[0]
        if name in shared and all(isinstance(one[name], int | float) for one in values)
    }


def pareto_front(costs: Sequence[float], qualities: Sequence[float], lower_is_better: bool = False) -> set[int]:
    """Return which points no other beats: none is as cheap or cheaper and better, or as good and cheaper.

    >>> sorted(pareto_front([1, 2, 3, 4], [0.5, 0.4, 0.9, 0.9]))
    [0, 2]
    """
    sign = -1.0 if lower_is_better else 1.0
    order = sorted(range(len(costs)), key=lambda number: (costs[number], -sign * qualities[number]))
    front: set[int] = set()
    best, best_cost = float("-inf"), float("nan")
    for number in order:
        quality = sign * qualities[number]
        if quality > best or (quality == best and costs[number] == best_cost):  # equal points share their place
            front.add(number)
            best, best_cost = quality, costs[number]
    return front
