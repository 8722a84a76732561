"""Trials that ended well, the best of them, and the front of quality against bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gossamer.runner.search import lower_is_better

COMPLETE, PRUNED, FAILED = "complete", "pruned", "failed"


@dataclass(frozen=True)
class Trial:
    """One setting that was tried: its validation metric, the bytes it stores, or the sentence it failed with.

    The `value` of a pruned trial is that of the epoch it was given up after.
    """

    number: int
    state: str
    settings: dict[str, Any]
    value: float | None = None
    bytes: int | None = None
    seconds: float | None = None
    problem: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what is known of it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def best_trial(trials: Iterable[Trial], metric: str) -> Trial:
    """Return the complete trial with the best metric; among equals the smaller model wins, then the first."""
    trials = list(trials)
    complete = _complete(trials)
    if not complete:
        problems = [trial.problem for trial in trials if trial.problem]
        because = f"; the last one: {problems[-1]}" if problems else ""
        raise ValueError(f"one trial of {len(trials)} must end well to choose settings, got none{because}")
    return min(complete, key=lambda trial: _costs(trial, metric))


def front_of(trials: Iterable[Trial], metric: str) -> list[Trial]:
    """Return the complete trials that no other beats in both metric and bytes, smallest first.

    >>> sizes = [Trial(0, COMPLETE, {}, 0.5, 100), Trial(1, COMPLETE, {}, 0.4, 200), Trial(2, COMPLETE, {}, 0.6, 300)]
    >>> [trial.number for trial in front_of(sizes, "ndcg@10")]
    [0, 2]
    """
    front: list[Trial] = []
    for trial in sorted(_complete(trials), key=lambda trial: (trial.bytes or 0, _costs(trial, metric))):
        if not front or _costs(trial, metric)[0] < _costs(front[-1], metric)[0]:
            front.append(trial)
    return front


def _complete(trials: Iterable[Trial]) -> Sequence[Trial]:
    return [trial for trial in trials if trial.state == COMPLETE]


def _costs(trial: Trial, metric: str) -> tuple[float, int, int]:
    value = trial.value or 0.0
    return (value if lower_is_better(metric) else -value), trial.bytes or 0, trial.number
