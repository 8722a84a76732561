"""Tables inside Markdown pages, written from result records and never by hand.

A page marks the place of a table with two comments:

    <!-- table: linear-ml1m -->
    <!-- /table -->

The name is that of an experiment, `bench/<name>` for a benchmark's record, or `front` for the lines of docs/front.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from gossamer.core.atomic import replacing_file
from gossamer.runner.bench_table import bench_table
from gossamer.runner.experiment import experiments_folder, find_experiments, read_experiment
from gossamer.runner.front_table import FRONT, front_table
from gossamer.runner.records import read_records
from gossamer.runner.table import markdown_table

_OPENING = re.compile(r"<!-- table: *(\S+) *-->")
_TABLE = re.compile(r"(<!-- table: *(?P<name>\S+) *-->\n)(?P<body>.*?)(<!-- /table -->)", re.DOTALL)


def experiment_table(name: str) -> str:
    """Return the Markdown table of an experiment's, or a benchmark's, records as they are now."""
    if name.startswith("bench/"):
        return bench_table(experiments_folder().parent / "results" / f"{name}.json")
    if name == FRONT:
        return front_table(experiments_folder().parent / "docs" / f"{FRONT}.toml")
    known = find_experiments()
    if name not in known:
        raise ValueError(f"table must be one of {', '.join(known)}, got {name!r}")
    experiment = read_experiment(known[name])
    return markdown_table(experiment, read_records(experiment.results))


def fill_tables(text: str, table: Callable[[str], str] = experiment_table) -> str:
    """Return a page with the text between its markers replaced by `table(name)`.

    >>> fill_tables("<!-- table: t -->\\nold\\n<!-- /table -->", lambda name: f"new {name}")
    '<!-- table: t -->\\n\\nnew t\\n\\n<!-- /table -->'
    """
    opened, closed = len(_OPENING.findall(text)), len(_TABLE.findall(text))
    if opened != closed:
        raise ValueError(f"every <!-- table: … --> must be followed by <!-- /table -->, got {opened} and {closed}")
    return _TABLE.sub(lambda match: f"{match[1]}\n{table(match['name'])}\n\n{match[4]}", text)


def pages_with_tables() -> list[Path]:
    """Return the pages beside the `experiments` folder that hold tables: README.md and everything under docs/."""
    home = experiments_folder().parent
    pages = [home / "README.md", *sorted((home / "docs").rglob("*.md"))]
    return [page for page in pages if page.is_file() and _OPENING.search(page.read_text(encoding="utf-8"))]


def refresh_page(page: Path) -> bool:
    """Rewrite the tables of a page from the records and say whether that changed it."""
    before = page.read_text(encoding="utf-8")
    after = fill_tables(before)
    if after != before:
        with replacing_file(page) as temporary:
            temporary.write_text(after, encoding="utf-8")
    return after != before
