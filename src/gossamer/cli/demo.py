"""`gossamer demo`: four recommenders on Python's own standard library, compared, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = "Example: [bold]gossamer demo --out demo[/bold]"

DATA = "stdlib-usage"
MODELS = ("popularity", "item-knn", "ease", "als")
MODULES = ("json.decoder", "http.server", "zipfile")


def run(
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the report.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the split and of the models.")] = 0,
) -> None:
    """Train four recommenders on which names the modules of Python's standard library call; no download."""
    from gossamer.cli.printing import print_line, print_table
    from gossamer.cli.reporting import comparison_rows, write_models_report
    from gossamer.runner.answers import recommended, user_row
    from gossamer.runner.outcome import fit_and_judge
    from gossamer.runner.provenance import Origin
    from gossamer.runner.source import make_split, open_data
    from gossamer.runner.specs import DataSpec
    from gossamer.runner.tasks import default_split

    source, division = DataSpec(DATA), default_split(MODELS, seed)
    data = open_data(source)
    split = make_split(data, division)
    print_line(f"{DATA}: {data.num_users:,} modules call {data.num_items:,} names, {data.nnz:,} pairs")
    outcomes = [fit_and_judge(model, split, seed=seed) for model in MODELS]
    print_table(comparison_rows(outcomes), title=f"{len(split.test)} modules that no model has seen")
    ease = next(outcome.estimator for outcome in outcomes if outcome.model == "ease")
    modules = [module for module in MODULES if module in data.users]
    rows = []
    for module in modules:
        names = [str(row["item"]) for row in recommended(ease, user_row(data, module), 200)]
        # Everybody calls `len` and `.append`; names of other modules say more about this one.
        rows.append({"module": module, "might also call": ", ".join([name for name in names if "." in name[1:]][:5])})
    print_table(rows, title="names of other modules that they do not call yet, by ease")
    report = out / "report.html"
    origin = Origin(", ".join(MODELS), source, division, data.fingerprint())
    title = "Recommending names to Python modules"
    write_models_report(report, title=title, data=data, split=split, outcomes=outcomes, origin=origin, users=modules)
    print_line(f"report: {report}")
