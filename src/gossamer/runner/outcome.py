"""Fit one model, or several on the same split, and judge them: what `fit`, `compare`, `demo` and the report share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.core.processes import process_rank
from gossamer.data.interactions import HeldOut
from gossamer.data.share import Share
from gossamer.persistence import read_artifact
from gossamer.runner.directory import SharedSplit
from gossamer.runner.estimators import make_estimator
from gossamer.runner.measure import Measured, fit, measure, num_held_out
from gossamer.runner.provenance import read_origin
from gossamer.runner.source import Division
from gossamer.runner.specs import DataSpec, SplitSpec
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
    split: Division | SharedSplit,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str | None = None,
    metrics: Sequence[str] | None = None,
    checkpoint: Path | None = None,
) -> Outcome:
    """Fit a model of the catalogue on a split's training part and judge it on the test part.

    Of several processes the first judges, or all do where each has a share of the test part.
    """
    estimator = make_estimator(model, settings or {}, seed=seed, device=device)
    seconds = fit(estimator, split, checkpoint)
    judges = process_rank() == 0 or isinstance(split.test, Share)
    return Outcome(model, estimator, seconds, judge(estimator, split.test, metrics) if judges else None)


def is_artifact(name: str) -> bool:
    """Say whether a name of a model means the directory of a fitted one."""
    return (Path(name) / "config.json").is_file()


def model_of(name: str) -> str:
    """Return the name in the catalogue of a model, or of the one in an artifact's directory."""
    return read_origin(read_artifact(name).config).model if is_artifact(name) else name


def judge_models(
    models: Sequence[str], split: Division, *, data: DataSpec, division: SplitSpec, seed: int = 0
) -> list[Outcome]:
    """Judge models on one split: those of the catalogue are fitted, those of artifacts loaded.

    The split must be the artifacts' own: another may hold out what they have learned from.
    """
    outcomes = []
    for name in dict.fromkeys(models):
        if not is_artifact(name):
            outcomes.append(fit_and_judge(name, split, seed=seed))
            continue
        loaded = read_artifact(name)
        origin = read_origin(loaded.config)
        if (origin.data, origin.split) != (data, division):
            raise ValueError(
                f"{name} must be fitted on the data and split it is compared on, {data.as_json()} and "
                f"{division.as_json()}, got {origin.data.as_json()} and {origin.split.as_json()}"
            )
        outcomes.append(Outcome(name, loaded.estimator, None, judge(loaded.estimator, split.test)))
    return outcomes


def judge(estimator: Any, held_out: Any, metrics: Sequence[str] | None = None) -> Measured | None:
    """Measure a fitted model by the metrics named, or by those that suit it; None where nothing was held out."""
    if isinstance(held_out, Share):
        from gossamer.training.sharing import Sharing

        # A model that process 0 alone holds is judged by the rows that process 0 holds.
        own = judge(estimator, held_out.rows, metrics) if getattr(estimator, "holds_model_", True) else None
        # What a mean is over: ratings where ratings are predicted, else users or documents.
        is_rated = isinstance(held_out.rows, HeldOut) and default_metrics(estimator) is None
        weight = num_held_out(held_out.rows) if is_rated else len(held_out.rows)
        means = Sharing(is_divided=True).mean(None if own is None else own.values, weight)
        return Measured(means, {}) if means else None
    if num_held_out(held_out) == 0:
        return None
    return measure(estimator, held_out, default_metrics(estimator) if metrics is None else metrics)
