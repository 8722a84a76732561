"""`gossamer compare`: several models on the same split, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.options import (
    AsJson,
    Columns,
    DataOptions,
    MinPerItem,
    MinPerUser,
    MinRating,
    Seed,
    Split,
    parse_columns,
    parse_options,
)

EXAMPLES = """
Examples:

[bold]gossamer compare stdlib-usage popularity item-knn ease --out report.html[/bold]

[bold]gossamer compare stdlib-docs my-ant my-dense[/bold]
"""


def run(
    data: Annotated[str, typer.Argument(help="A data set of `gossamer data list`, or a file.")],
    models: Annotated[list[str], typer.Argument(metavar="MODEL…", help="Models, or directories of fitted ones.")],
    columns: Columns = None,
    options: DataOptions = None,
    split: Split = None,
    min_rating: MinRating = None,
    min_per_user: MinPerUser = None,
    min_per_item: MinPerItem = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write a report there.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train models with their default settings, or load fitted ones, and put their metrics side by side."""
    from gossamer.cli.printing import print_json, print_line, print_table
    from gossamer.cli.reporting import comparison_rows, write_models_report
    from gossamer.runner.measure import name_held_out
    from gossamer.runner.outcome import judge_models, model_of
    from gossamer.runner.provenance import Origin
    from gossamer.runner.source import make_split, open_data
    from gossamer.runner.specs import DataSpec, SplitSpec
    from gossamer.runner.tasks import data_for, default_split

    names = [model_of(model) for model in models]
    division = default_split(names, seed, data) if split is None else SplitSpec(split, seed=seed)
    source = DataSpec(data, parse_options(options), parse_columns(columns), min_rating, min_per_user, min_per_item)
    source = data_for(names, source)
    opened = open_data(source, division)
    parts = make_split(opened, division)
    outcomes = judge_models(models, parts, data=source, division=division, seed=seed)
    rows = comparison_rows(outcomes)
    if as_json:
        print_json({"data": source.as_json(), "split": parts.description, "models": rows})
    else:
        print_table(rows, title=f"{data}, {name_held_out(parts.test)}")
    if out is not None:
        origin = Origin(", ".join(models), source, division, opened.fingerprint())
        title = f"{len(outcomes)} models on {data}"
        write_models_report(out, title=title, data=opened, split=parts, outcomes=outcomes, origin=origin)
        if not as_json:
            print_line(f"wrote {out}")
