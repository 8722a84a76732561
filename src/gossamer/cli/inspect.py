"""`gossamer inspect`: a saved model, its data and what it learned, as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.options import Artifact

EXAMPLES = "Example: [bold]gossamer inspect ease --out report.html[/bold]"


def run(
    artifact: Artifact,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    data: Annotated[str | None, typer.Option("--data", "-d", help="Other data to judge the model on.")] = None,
) -> None:
    """Write a report about a saved model: data, metrics with intervals, size, and what it learned."""
    from gossamer.cli.printing import print_line
    from gossamer.cli.reporting import write_models_report
    from gossamer.persistence import read_artifact
    from gossamer.runner.outcome import Outcome, judge
    from gossamer.runner.provenance import reopen
    from gossamer.runner.terms import terms_of

    loaded = read_artifact(artifact)
    origin, opened, split = reopen(loaded.config, data, terms_of(loaded.estimator))
    outcome = Outcome(origin.model, loaded.estimator, None, judge(loaded.estimator, split.test))
    title = f"{origin.model} on {origin.data.name}"
    write_models_report(out, title=title, data=opened, split=split, outcomes=[outcome], origin=origin)
    print_line(f"wrote {out}")
