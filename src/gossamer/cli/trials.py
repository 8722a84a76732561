"""How a search is told: a line per trial, the front, where the best settings are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gossamer.cli.printing import cell, print_line, print_table
from gossamer.report.front_figure import draw_front
from gossamer.report.svg import write_svg
from gossamer.runner.tuning.front import COMPLETE, FAILED, PRUNED, Trial
from gossamer.runner.tuning.writing import experiment_path


def print_trial(trial: Trial) -> None:
    """Print how one trial ended."""
    if trial.state == COMPLETE:
        outcome = f"{cell(trial.value)}, {cell(trial.bytes)} bytes, {cell(trial.seconds)} seconds"
    else:
        outcome = f"given up at {cell(trial.value)}" if trial.state == PRUNED else f"failed: {trial.problem}"
    print_line(f"trial {trial.number}: {outcome}  ({_words(trial.settings)})")


def print_findings(folder: Path, found: Mapping[str, Any]) -> None:
    """Print the front of quality against bytes, the best settings, and what to do with them."""
    rows = [
        {"trial": trial["number"], found["metric"]: trial["value"], "bytes stored": trial["bytes"], **trial["settings"]}
        for trial in found["front"]
    ]
    states = [trial["state"] for trial in found["trials"]]
    ended = ", ".join(f"{states.count(state)} {state}" for state in (COMPLETE, PRUNED, FAILED))
    print_table(rows, title=f"{found['model']} on {found['data']['name']}: no trial is better and smaller ({ended})")
    best = found["best"]
    print_line(f"best {found['metric']} on validation data: {cell(best['value'])} with {_words(best['settings'])}")
    print_line(f"judge it on the test part with: gossamer reproduce {experiment_path(folder, 'best')}")


def write_front(path: Path, found: Mapping[str, Any]) -> None:
    """Draw all complete trials by bytes and metric, with the front."""
    tried, front = (
        [(trial["bytes"], trial["value"]) for trial in found[name] if trial["state"] == COMPLETE]
        for name in ("trials", "front")
    )
    write_svg(draw_front(found["metric"], tried, front).svg, path)


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
