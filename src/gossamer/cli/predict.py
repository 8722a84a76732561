"""`gossamer predict`: the phases of series, and what follows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.options import Artifact, AsJson

EXAMPLES = """
Examples:

[bold]gossamer predict phases --data visits.csv[/bold]

[bold]gossamer predict phases --data visits.csv --out states.csv[/bold]
"""


def run(
    artifact: Artifact,
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="Other data than those the model was trained on.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .csv to write with the state of every step.")
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many series to print.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Say in which phase each series is, what follows and when; with --out, the phase of every step."""
    from gossamer.cli.printing import print_json, print_line, print_table
    from gossamer.core.atomic import replacing_file
    from gossamer.persistence import read_artifact
    from gossamer.runner.phases import check_reads_sequences, phases_of, what_follows
    from gossamer.runner.provenance import open_origin

    if out is not None and out.suffix.lower() != ".csv":
        raise ValueError(f"--out must end in .csv, got {str(out)!r}")
    loaded = read_artifact(artifact)
    check_reads_sequences(loaded.estimator)
    origin, series = open_origin(loaded.config, data)
    rows = what_follows(loaded.estimator, series, n)
    if out is not None:
        with replacing_file(out) as temporary:
            phases_of(loaded.estimator, series).write_csv(temporary)
    if as_json:
        print_json(rows)
        return
    print_table(rows, title=f"{origin.model} on {origin.data.name}, {len(rows):,} of {len(series):,} sequences")
    if out is not None:
        print_line(f"wrote {out}, a row per step")
