"""Refining early against refining late: two trainings of one length, compared by their histories (figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gossamer.models.counts.diagnostics.utilisation import USED, EpochCurve, utilisation_curve

History = Mapping[str, Any] | Sequence[Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class ScheduleComparison:
    """Perplexities over epochs of a model refined early and one refined late, with the directions they use if known.

    `catches_up` is the first epoch from which on the late one is never worse again, among the epochs both have; None
    where it never is, as the paper found.
    """

    measure: str
    early: EpochCurve
    late: EpochCurve
    used: Mapping[str, EpochCurve]
    catches_up: int | None

    def rows(self) -> list[dict[str, Any]]:
        """Return a table: best and last value of either, and the directions used at the end."""
        return [
            {
                "schedule": name,
                "epochs": int(curve.epochs[-1]),
                f"best {self.measure}": float(curve.values.min()),
                f"last {self.measure}": float(curve.values[-1]),
                "directions used": int(self.used[name].values[-1]) if name in self.used else None,
            }
            for name, curve in (("early", self.early), ("late", self.late))
        ]


def compare_schedules(
    early: History, late: History, *, measure: str = "perplexity_document_refined"
) -> ScheduleComparison:
    """Compare the histories of "refined-then-amortised" and of "amortised-then-refined" training by `measure`.

    Lower is better. Both should have run with the same data, seed and number of epochs; nothing here can check that.

    >>> early = [{"epoch": 0, "ppl": 9.0}, {"epoch": 1, "ppl": 8.0}, {"epoch": 2, "ppl": 7.0}]
    >>> late = [{"epoch": 0, "ppl": 12.0}, {"epoch": 1, "ppl": 8.0}, {"epoch": 2, "ppl": 6.0}]
    >>> compare_schedules(early, late, measure="ppl").catches_up
    2
    """
    curves = utilisation_curve(early, measure), utilisation_curve(late, measure)
    used = {}
    for name, history in (("early", early), ("late", late)):
        records = history["epochs"] if isinstance(history, Mapping) else history
        if any(USED in record for record in records):
            used[name] = utilisation_curve(records)
    return ScheduleComparison(measure, *curves, used, _catches_up(*curves))


def _catches_up(early: EpochCurve, late: EpochCurve) -> int | None:
    shared, first, second = np.intersect1d(early.epochs, late.epochs, return_indices=True)
    if len(shared) == 0:
        raise ValueError("early and late must have an epoch in common, got none")
    is_worse = np.flatnonzero(~(late.values[second] <= early.values[first]))
    after = int(is_worse[-1]) + 1 if len(is_worse) else 0
    return int(shared[after]) if after < len(shared) else None
