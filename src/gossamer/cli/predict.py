"""`gossamer predict`: the phases of series and what follows them; the labels, class or counts of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.options import Artifact, AsJson

EXAMPLES = """
Examples:

[bold]gossamer predict phases --data visits.csv[/bold]

[bold]gossamer predict phases --data visits.csv --out states.csv[/bold]

[bold]gossamer predict moods --data new-songs.csv --out labels.csv[/bold]
"""


def run(
    artifact: Artifact,
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="Other data than those the model was trained on.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A .csv to write, with the state of every step or the labels of every row."),
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many series or rows to print.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Say in which phase each series is, what follows and when; or which labels rows have. With --out, all of it."""
    from gossamer.cli.printing import print_json, print_line, print_table
    from gossamer.core.atomic import replacing_file
    from gossamer.core.checks import check_int
    from gossamer.persistence import read_artifact
    from gossamer.runner.labelling import gives_labels, labels_of
    from gossamer.runner.phases import phases_of, reads_sequences, what_follows
    from gossamer.runner.provenance import open_origin

    check_int("-n", n, at_least=1)
    if out is not None and out.suffix.lower() != ".csv":
        raise ValueError(f"--out must end in .csv, got {str(out)!r}")
    loaded = read_artifact(artifact)
    has_phases = reads_sequences(loaded.estimator)
    if not has_phases and not gives_labels(loaded.estimator):
        raise ValueError(
            "the model must be one of sequences, such as hsmm, or of labels, such as sparse-label-classifier, got "
            f"{type(loaded.estimator).__name__}"
        )
    origin, opened = open_origin(loaded.config, data)
    if has_phases:
        rows, noun = what_follows(loaded.estimator, opened, n), "sequences"
    else:
        labelled = labels_of(loaded.estimator, opened)
        rows, noun = labelled.head(n).to_dicts(), "rows"
    if out is not None:
        with replacing_file(out) as temporary:
            (phases_of(loaded.estimator, opened) if has_phases else labelled).write_csv(temporary)
    if as_json:
        print_json(rows)
        return
    print_table(rows, title=f"{origin.model} on {origin.data.name}, {len(rows):,} of {len(opened):,} {noun}")
    if out is not None:
        print_line(f"wrote {out}, a row per {'step' if has_phases else 'row of the data'}")
