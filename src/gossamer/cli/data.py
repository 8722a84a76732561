"""`gossamer data list|show|path`: which data there are, what is in them, where they lie."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer.cli.options import AsJson, Columns, DataOptions, parse_columns, parse_options

app = typer.Typer(help="Data sets: list them, look into one, find its files.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A data set of `gossamer data list`; for show also a file.")]


@app.command("list", epilog="Example: [bold]gossamer data list[/bold]")
def list_data(as_json: AsJson = False) -> None:
    """List the data sets by name."""
    from gossamer import datasets
    from gossamer.cli.printing import print_json, print_table

    rows = [
        {"name": name, "title": info.title, "kind": info.kind, "here": datasets.locate(name) is not None}
        for name, info in datasets.available().items()
    ]
    if as_json:
        print_json(rows)
    else:
        print_table([row | {"here": "yes" if row["here"] else ""} for row in rows])


@app.command(
    epilog="Examples: [bold]gossamer data show stdlib-usage[/bold], [bold]gossamer data show ratings.csv[/bold], "
    "[bold]gossamer data show mail.csv --option form=counts[/bold]"
)
def show(name: Name, columns: Columns = None, options: DataOptions = None, as_json: AsJson = False) -> None:
    """Load a data set, or a file of interactions or documents, and say what is in it."""
    from dataclasses import asdict

    from gossamer import datasets
    from gossamer.cli.printing import print_json, print_table
    from gossamer.runner.source import is_file, open_data
    from gossamer.runner.specs import DataSpec

    opened = open_data(DataSpec(name, parse_options(options), parse_columns(columns)))
    # Containers describe themselves in a dict; of weights, word vectors and tables the number of entries is said.
    content = opened.describe() if hasattr(opened, "describe") else None
    content = content if isinstance(content, dict) else {"entries": len(opened)}
    described = {} if is_file(name) else asdict(datasets.available()[name])
    if as_json:
        print_json({"name": name, "about": described, "content": content})
    else:
        about = [{"what": key, "value": str(value)} for key, value in described.items() if value is not None]
        print_table(about + [{"what": key, "value": value} for key, value in content.items()], title=name)


@app.command(epilog="Example: [bold]ls $(gossamer data path ml-1m)[/bold]")
def path(name: Name) -> None:
    """Print the directory a data set lies in on this machine."""
    from gossamer import datasets

    found = datasets.locate(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not on this machine; `gossamer data show {name}` fetches it or says how to")
    typer.echo(str(found))
