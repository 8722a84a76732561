"""From fitted models to the rows of a comparison and to the report page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gossamer.cli.examples import examples_of
from gossamer.cli.results import result_of
from gossamer.report.figures import size_curves as draw_size_curves
from gossamer.report.models import models_report
from gossamer.report.page import write_report
from gossamer.report.svg import write_svg
from gossamer.runner.comparing import comparison_rows as comparison_rows
from gossamer.runner.experiment import Experiment
from gossamer.runner.machine import commit, versions
from gossamer.runner.outcome import Outcome
from gossamer.runner.provenance import Origin
from gossamer.runner.records import Record
from gossamer.runner.source import Division
from gossamer.runner.table import size_curves


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
        models={outcome.model: result_of(outcome, split) for outcome in outcomes},
        examples=examples_of(outcomes, data, split, users),
        provenance=origin.as_json() | versions() | {"commit": revision, "dirty": is_dirty},
    )
    write_report(report, path)


def write_size_curves(path: Path, experiment: Experiment, records: Sequence[Record]) -> None:
    """Write how an experiment's methods trade their first metric against the values they store."""
    write_svg(draw_size_curves(*size_curves(experiment, records)).svg, path)
