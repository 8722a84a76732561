"""`gossamer demo`: models of several families on Python's own standard library, one table, one report, one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
Examples:

[bold]gossamer demo --out demo[/bold]

[bold]gossamer demo --no-serve && gossamer serve demo/models/*[/bold]
"""

MODULES = ("json.decoder", "http.server", "zipfile")


def run(
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the report and the models.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the splits and of the models.")] = 0,
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="Open the explorer afterwards; the default is to, in a terminal."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the explorer; 0 takes a free one.")] = 8000,
) -> None:
    """Train, compare, compress and save models of Python's standard library, which needs no download."""
    from gossamer.cli.printing import print_line, print_table
    from gossamer.cli.reporting import write_demo_report
    from gossamer.runner.answers import recommended, user_row
    from gossamer.runner.demonstration import CHAPTERS, save_models, summary, tell

    told = []
    for chapter in CHAPTERS:
        print_line(f"{chapter.title} {chapter.data}: {', '.join(chapter.models)}")
        told.append(tell(chapter, seed))
    rows = summary(told)
    print_table(rows, title="on modules and docstrings that no model has seen")
    first = told[0]
    ease = next(outcome.estimator for outcome in first.outcomes if outcome.model == "ease")
    modules = [module for module in MODULES if module in first.data.users]
    answers = []
    for module in modules:
        names = [str(row["item"]) for row in recommended(ease, user_row(first.data, module), 200)]
        # Everybody calls `len` and `.append`; names of other modules say more about this one.
        answers.append({"module": module, "might also call": ", ".join([n for n in names if "." in n[1:]][:5])})
    print_table(answers, title="names of other modules that they do not call yet, by ease")
    saved = save_models(told, out / "models")
    report = out / "report.html"
    write_demo_report(report, told, rows, users=modules)
    print_line(f"report: {report}; models: {out / 'models'}")
    if serve or (serve is None and sys.stdin.isatty() and sys.stdout.isatty()):
        from gossamer.cli.serve import run as serve_models

        serve_models([str(path) for path in saved], port=port)
