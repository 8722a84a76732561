"""`gossamer recommend`: the best items for one user, or for a list of items."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer.cli.options import Artifact, AsJson

EXAMPLES = """
Examples:

[bold]gossamer recommend ease --user zipfile[/bold]

[bold]gossamer recommend ease --history os.path.join --history os.listdir -n 5[/bold]
"""


def run(
    artifact: Artifact,
    user: Annotated[str | None, typer.Option(help="A user, or document, of the data the model was trained on.")] = None,
    history: Annotated[
        list[str] | None, typer.Option(help="An item of somebody who is not in the data; may be repeated.")
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many items.")] = 10,
    data: Annotated[str | None, typer.Option("--data", "-d", help="Other data to find the user in.")] = None,
    as_json: AsJson = False,
) -> None:
    """Recommend items that a user does not have yet."""
    if (user is None) == (history is None):
        raise ValueError("give either --user with an id or --history with items")
    from gossamer.cli.printing import print_json, print_table
    from gossamer.core.checks import check_int
    from gossamer.persistence import read_artifact
    from gossamer.runner.answers import history_of_items, history_of_user, item_vocabulary, recommended
    from gossamer.runner.terms import terms_of

    check_int("-n", n, at_least=1)
    loaded = read_artifact(artifact)
    item_vocabulary(loaded.estimator)  # a model that recommends nothing says so before any data are read
    if user is not None:
        known = history_of_user(loaded.config, user, data, terms_of(loaded.estimator))
    else:
        known = history_of_items(loaded.estimator, history or [])
    rows = recommended(loaded.estimator, known, n)
    if as_json:
        print_json({"user": user, "history": history, "recommendations": rows})
    else:
        print_table(
            [{"rank": rank, **row} for rank, row in enumerate(rows, start=1)],
            title=f"for {user}" if user is not None else f"after {', '.join(history or [])}",
        )
