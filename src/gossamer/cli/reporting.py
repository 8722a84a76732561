"""From fitted models to the rows of a comparison and to the report page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gossamer.cli.examples import examples_of
from gossamer.core.protocols import Explainer
from gossamer.report.page import write_report
from gossamer.report.recommender import ModelResult, recommender_report
from gossamer.runner.machine import commit, versions
from gossamer.runner.measure import stored_size
from gossamer.runner.outcome import Outcome
from gossamer.runner.provenance import Origin
from gossamer.runner.source import Division


def comparison_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return one row per model: metrics, stored numbers, seconds."""
    rows = []
    for outcome in outcomes:
        metrics = {} if outcome.measured is None else outcome.measured.values
        values, _ = stored_size(outcome.estimator)
        rows.append({"model": outcome.model, **metrics, "values": values, "seconds": outcome.seconds})
    return rows


def write_models_report(
    path: Path,
    *,
    title: str,
    data: Any,
    split: Division,
    outcomes: Sequence[Outcome],
    origin: Origin,
    users: Sequence[str] = (),
) -> None:
    """Write the report of models fitted on `split`, with examples for `users` or for the first held-out ones."""
    revision, is_dirty = commit()
    report = recommender_report(
        title=title,
        data=data,
        split=split,
        models={outcome.model: _result(outcome) for outcome in outcomes},
        examples=examples_of(outcomes, data, split, users),
        provenance=origin.as_json() | versions() | {"commit": revision, "dirty": is_dirty},
    )
    write_report(report, path)


def _result(outcome: Outcome) -> ModelResult:
    measured, model = outcome.measured, outcome.estimator
    scores = {} if measured is None else measured.ranking or measured.values
    num_values, num_bytes = stored_size(model)
    history = getattr(model, "history_", None)
    return ModelResult(
        scores=scores,
        settings=model.get_params(deep=False),
        seconds=outcome.seconds,
        num_values=num_values,
        num_bytes=num_bytes,
        history=() if history is None else history["epochs"],
        explanation=model.explain() if isinstance(model, Explainer) else {},
    )
