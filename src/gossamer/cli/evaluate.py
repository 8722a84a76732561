"""`gossamer evaluate`: judge a saved model on held-out data."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer.cli.options import Artifact, AsJson

EXAMPLES = """
Examples:

[bold]gossamer evaluate ease[/bold]

[bold]gossamer evaluate ease --data other.csv --json[/bold]
"""


def run(
    artifact: Artifact,
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="Other data than those the model was trained on.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge a saved model on what its split held out, or on other data divided in the same way."""
    from gossamer.cli.printing import print_json, print_table
    from gossamer.persistence import read_artifact
    from gossamer.runner.measure import name_held_out
    from gossamer.runner.outcome import judge
    from gossamer.runner.provenance import reopen
    from gossamer.runner.terms import terms_of

    loaded = read_artifact(artifact)
    origin, _, split = reopen(loaded.config, data, terms_of(loaded.estimator))
    measured = judge(loaded.estimator, split.test)
    if measured is None:
        raise ValueError(
            f"{artifact} must come from a split that holds something out, got {split.description['kind']!r}"
        )
    if as_json:
        print_json(
            {
                "model": origin.model,
                "data": origin.data.as_json(),
                "split": split.description,
                "metrics": measured.values,
                "standard_error": measured.standard_error,
            }
        )
    else:
        rows = [
            {"metric": name, "value": value, "standard error": measured.standard_error.get(name)}
            for name, value in measured.values.items()
        ]
        print_table(rows, title=f"{origin.model} on {origin.data.name}, {name_held_out(split.test)}")
