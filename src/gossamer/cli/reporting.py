"""From fitted models to the rows of a comparison and to the report page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gossamer.cli.examples import examples_of
from gossamer.core.protocols import Explainer
from gossamer.report.figures import size_curves as draw_size_curves
from gossamer.report.models import ModelResult, models_report
from gossamer.report.page import write_report
from gossamer.report.svg import write_svg
from gossamer.runner.experiment import Experiment
from gossamer.runner.machine import commit, versions
from gossamer.runner.measure import stored_size
from gossamer.runner.outcome import Outcome
from gossamer.runner.provenance import Origin
from gossamer.runner.records import Record
from gossamer.runner.source import Division
from gossamer.runner.table import size_curves


def comparison_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return one row per model: metrics, stored numbers, seconds."""
    rows = []
    for outcome in outcomes:
        metrics = {} if outcome.measured is None else outcome.measured.values
        values, _ = stored_size(outcome.estimator)
        rows.append({"model": outcome.model, **metrics, "values": values, "seconds": outcome.seconds})
    names = dict.fromkeys(name for row in rows for name in row if name not in ("values", "seconds"))
    return [{name: row.get(name) for name in (*names, "values", "seconds")} for row in rows]


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
    report = models_report(
        title=title,
        data=data,
        split=split,
        models={outcome.model: _result(outcome) for outcome in outcomes},
        examples=examples_of(outcomes, data, split, users),
        provenance=origin.as_json() | versions() | {"commit": revision, "dirty": is_dirty},
    )
    write_report(report, path)


def write_size_curves(path: Path, experiment: Experiment, records: Sequence[Record]) -> None:
    """Write how an experiment's methods trade their first metric against the values they store."""
    write_svg(draw_size_curves(*size_curves(experiment, records)).svg, path)


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
        size=model.size_report() if hasattr(model, "size_report") else {},
        entries=model.entries_per_row() if hasattr(model, "entries_per_row") else {},
    )
