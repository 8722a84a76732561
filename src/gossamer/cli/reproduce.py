"""`gossamer reproduce`: run an experiment file and print paper, peers and ours side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
Examples:

[bold]gossamer reproduce --list[/bold]

[bold]gossamer reproduce linear-ml1m --row ease --seed 0[/bold]

[bold]gossamer reproduce --tables[/bold]
"""


def run(
    name: Annotated[str | None, typer.Argument(help="An experiment of --list, or a .toml file.")] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List the experiments and how much of each is done.")
    ] = False,
    run_all: Annotated[bool, typer.Option("--all", help="Run every experiment whose data are here.")] = False,
    tables: Annotated[
        bool, typer.Option("--tables", help="Rewrite the tables of README.md and docs/ (afterwards).")
    ] = False,
    row: Annotated[str | None, typer.Option(help="Only this row, or those of a pattern, such as 'cobla-*'.")] = None,
    seed: Annotated[int | None, typer.Option(help="Only this seed.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Run again what is already there.")] = False,
    missing: Annotated[
        bool, typer.Option("--missing", help="Run only what has no record, also where records are of other code.")
    ] = False,
    together: Annotated[
        bool, typer.Option("--together", help="All rows in one process, which reads the data once; see the docs.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw metric against size there, as SVG.")] = None,
) -> None:
    """Run experiments, write one record per row and seed, and print the table of their records."""
    asked = [name is not None, list_all, run_all].count(True)
    if asked > 1 or (asked == 0 and not tables):
        raise ValueError("give the name of an experiment, or one of --list, --all and --tables")
    if plot is not None and name is None:
        raise ValueError("--plot must come with the name of one experiment")
    from gossamer.cli.printing import console, print_line, print_table
    from gossamer.runner.experiment import find_experiment, find_experiments, read_experiment
    from gossamer.runner.pages import pages_with_tables, refresh_page
    from gossamer.runner.records import read_records
    from gossamer.runner.run import data_are_here, run_experiment
    from gossamer.runner.table import listed, rich_table

    if name is not None:
        experiments = [find_experiment(name)]
    else:
        experiments = [read_experiment(path) for path in find_experiments().values()] if list_all or run_all else []
    if list_all:
        print_table([listed(one) for one in experiments])
        return
    for experiment in experiments:
        if run_all and not data_are_here(experiment):
            print_line(f"{experiment.name}: skipped, because {experiment.data.name} is not on this machine")
            continue
        options = {"force": force, "missing": missing, "together": together}
        for record, is_new in run_experiment(experiment, row=row, seed=seed, **options):
            print_line(f"{record.row}, seed {record.seed}: " + ("done" if is_new else "already there"))
        records = read_records(experiment.results)
        console().print(rich_table(experiment, records))
        if plot is not None:
            from gossamer.cli.reporting import write_size_curves

            write_size_curves(plot, experiment, records)
            print_line(f"wrote {plot}")
    for page in pages_with_tables() if tables else ():
        print_line(f"{page.name}: {'rewritten' if refresh_page(page) else 'already in step'}")
