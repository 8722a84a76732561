"""From fitted models to the rows of a comparison and to the report page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gossamer.cli.examples import examples_of
from gossamer.cli.results import result_of
from gossamer.report.blocks import Section, Table
from gossamer.report.figures import size_curves as draw_size_curves
from gossamer.report.models import models_report
from gossamer.report.page import Report, write_report
from gossamer.report.svg import write_svg
from gossamer.runner.comparing import comparison_rows as comparison_rows
from gossamer.runner.demonstration import Told
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


def write_demo_report(
    path: Path, told: Sequence[Told], rows: Sequence[dict[str, Any]], users: Sequence[str] = ()
) -> None:
    """Write one report of several chapters: the table of all models first, then each chapter's own sections."""
    revision, is_dirty = commit()
    lead = "One row per model: how well it does on what it has not seen, what it stores, and how long one answer takes."
    sections = [Section("All models", [Table(list(rows))], lead)]
    for one in told:
        found = models_report(
            title=one.chapter.title,
            data=one.data,
            split=one.split,
            models={outcome.model: result_of(outcome, one.split) for outcome in one.outcomes},
            examples=examples_of(one.outcomes, one.data, one.split, users) if one is told[0] else (),
            provenance=one.origin.as_json() | versions() | {"commit": revision, "dirty": is_dirty},
        )
        sections += [replace(section, title=f"{one.chapter.title} {section.title}") for section in found.sections]
    data = ", ".join(dict.fromkeys(one.chapter.data for one in told))
    write_report(Report("Python's standard library, learned", f"Models of several families on {data}.", sections), path)


def write_size_curves(path: Path, experiment: Experiment, records: Sequence[Record]) -> None:
    """Write how an experiment's methods trade their first metric against the values they store."""
    write_svg(draw_size_curves(*size_curves(experiment, records)).svg, path)
