"""Fit one model, or several on the same split, and judge them: what `fit`, `compare`, `demo` and the report share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gossamer.runner.estimators import make_estimator
from gossamer.runner.measure import Measured, fit, measure, num_held_out
from gossamer.runner.source import Division
from gossamer.runner.tasks import default_metrics


@dataclass(frozen=True)
class Outcome:
    """A fitted model and how it did; `seconds` is None for a loaded one, `measured` where nothing was held out."""

    model: str
    estimator: Any
    seconds: float | None
    measured: Measured | None


def fit_and_judge(
    model: str,
    split: Division,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str | None = None,
    metrics: Sequence[str] | None = None,
) -> Outcome:
    """Fit a model of the catalogue on a split's training part and judge it on the test part."""
    estimator = make_estimator(model, settings or {}, seed=seed, device=device)
    seconds = fit(estimator, split)
    return Outcome(model, estimator, seconds, judge(estimator, split.test, metrics))


def judge(estimator: Any, held_out: Any, metrics: Sequence[str] | None = None) -> Measured | None:
    """Measure a fitted model by the metrics named, or by those that suit it; None where nothing was held out."""
    if num_held_out(held_out) == 0:
        return None
    return measure(estimator, held_out, default_metrics(estimator) if metrics is None else metrics)
