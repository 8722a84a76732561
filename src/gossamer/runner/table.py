"""Result records as tables: paper, peers and ours side by side, for the terminal, for programs and for Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import polars as pl
from rich.markup import escape
from rich.table import Table

from gossamer.runner.experiment import Experiment, Row
from gossamer.runner.measure import SIZE_METRICS
from gossamer.runner.paired import difference_to_reference
from gossamer.runner.peers import libraries
from gossamer.runner.records import Record, read_records
from gossamer.runner.search import has_a_best, lower_is_better

LABELS = ("row", "method", "by")  # columns of words
SIZES = (*SIZE_METRICS, "nnz", "num_anchors")  # whole numbers, of which none is the best


def listed(experiment: Experiment) -> dict[str, str | int]:
    """Return the line of an experiment in a list of them: what it asks for, and how much of it is done."""
    return {
        "name": experiment.name,
        "title": experiment.title,
        "rows": len(experiment.rows),
        "seeds": len(experiment.seeds),
        "records": len(read_records(experiment.results)),
    }


def table_frame(experiment: Experiment, records: Sequence[Record]) -> pl.DataFrame:
    """Return one line per row that has records or published numbers, in the order of the experiment file.

    Each metric has its mean over seeds, `± <metric>` (the standard deviation over seeds; of a single seed the standard
    error over users) and, where somebody publishes a number, `<metric> (paper)` and `<metric> (peer)`. Where the
    experiment is paired, `<metric> − <row>` is the mean difference to that row over all users and
    `± <metric> − <row>` its paired standard error.
    """
    lines = []
    for row in experiment.rows:
        runs = [record for record in records if record.row == row.name]
        if runs or row.paper or row.peer:
            lines.append(_line(experiment, row, runs) | _difference(experiment, row, records))
    return pl.DataFrame(lines, schema=_schema(experiment), orient="row")


def size_curves(experiment: Experiment, records: Sequence[Record]) -> tuple[str, dict[str, list[tuple[float, float]]]]:
    """Return the first metric that is no size, and by method its means over seeds against the values stored."""
    metric = next((metric for metric in experiment.metrics if metric not in SIZES), None)
    if metric is None or "values" not in experiment.metrics:
        raise ValueError(
            f"metrics of {experiment.name} must have values and a measure to plot against them, "
            f"got {', '.join(experiment.metrics)}"
        )
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in table_frame(experiment, records).sort("values").iter_rows(named=True):
        if line[metric] is not None:
            curves.setdefault(line["method"], []).append((line["values"], line[metric]))
    if not curves:
        raise ValueError(f"{experiment.name} must have records to plot, got none")
    return metric, curves


def _schema(experiment: Experiment) -> dict[str, type[pl.DataType]]:
    columns: dict[str, type[pl.DataType]] = {"row": pl.String, "method": pl.String, "by": pl.String, "seeds": pl.Int64}
    for metric in experiment.metrics:
        columns |= {metric: pl.Float64, f"± {metric}": pl.Float64}
        for source in ("paper", "peer"):
            if any(metric in getattr(row, source) for row in experiment.rows):
                columns[f"{metric} ({source})"] = pl.Float64
        if experiment.paired is not None and metric == experiment.paired.metric:
            columns |= {experiment.paired.column: pl.Float64, f"± {experiment.paired.column}": pl.Float64}
    return columns | {"seconds": pl.Float64, "peak_rss_bytes": pl.Int64}


def _line(experiment: Experiment, row: Row, runs: Sequence[Record]) -> dict[str, object]:
    line: dict[str, object] = {
        "row": row.name,
        "method": row.method,
        "by": libraries(row.model)[0] if row.is_peer else "gossamer",
        "seeds": len(runs),
    }
    for metric in experiment.metrics:
        values = [run.metrics[metric] for run in runs if metric in run.metrics]
        line[metric] = statistics.fmean(values) if values else None
        if len(values) > 1:
            line[f"± {metric}"] = statistics.stdev(values)
        elif values:
            line[f"± {metric}"] = runs[0].standard_error.get(metric)
        line[f"{metric} (paper)"] = row.paper.get(metric)
        line[f"{metric} (peer)"] = row.peer.get(metric)
    line["seconds"] = statistics.fmean(run.seconds for run in runs) if runs else None
    line["peak_rss_bytes"] = max((run.peak_rss_bytes for run in runs), default=None)
    return {name: line.get(name) for name in _schema(experiment)}


def _difference(experiment: Experiment, row: Row, records: Sequence[Record]) -> dict[str, float | None]:
    difference = difference_to_reference(experiment, row, records)
    if experiment.paired is None or difference is None:
        return {}
    column = experiment.paired.column
    named = {column: difference.mean, f"± {column}": difference.standard_error}
    return {name: value if math.isfinite(value) else None for name, value in named.items()}  # of one user, or of none


def table_cells(
    experiment: Experiment, records: Sequence[Record]
) -> tuple[list[str], list[list[str]], list[list[bool]]]:
    """Return headings, formatted cells and which cells hold the best measured value of their column.

    Rows are told by their methods; by their names, too, where several rows have the same method by the same library.
    """
    frame = table_frame(experiment, records)
    hidden = () if frame.select("method", "by").is_duplicated().any() else ("row",)
    shown = [name for name in frame.columns if name not in hidden and not name.startswith("± ")]
    best = {
        metric: (frame[metric].min() if lower_is_better(metric) else frame[metric].max())
        for metric in experiment.metrics
        if metric not in SIZES and has_a_best(metric)
    }
    cells, is_best = [], []
    for line in frame.iter_rows(named=True):
        cells.append([_cell(name, line[name], line.get(f"± {name}")) for name in shown])
        is_best.append([name in best and line[name] is not None and line[name] == best[name] for name in shown])
    headings = ["peak MB" if name == "peak_rss_bytes" else name for name in shown]
    return headings, cells, is_best


def _cell(column: str, value: float | str | None, spread: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if column == "peak_rss_bytes":
        return f"{value / 1e6:,.0f}"
    if column == "seeds" or column.partition(" (")[0] in SIZES:  # "values (paper)" is a size as well
        return f"{value:,.0f}"
    if column == "seconds":
        return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
    sign = "+" if " − " in column else ""  # a difference shows its sign
    return f"{value:{sign}.4f}" + (f" ± {spread:.4f}" if spread is not None else "")


def rich_table(experiment: Experiment, records: Sequence[Record]) -> Table:
    """Return the table for a terminal, best values in bold."""
    headings, cells, is_best = table_cells(experiment, records)
    table = Table(title=escape(experiment.title), caption=escape(footnote(experiment, records)), title_justify="left")
    for heading in headings:
        table.add_column(
            heading, justify="left" if heading in LABELS else "right", no_wrap=heading not in ("row", "method")
        )
    for line, marks in zip(cells, is_best, strict=True):
        texts = (
            f"[bold]{escape(cell)}[/bold]" if mark else escape(cell) for cell, mark in zip(line, marks, strict=True)
        )
        table.add_row(*texts)
    return table


def markdown_table(experiment: Experiment, records: Sequence[Record]) -> str:
    """Return the table as Markdown with its footnote; the same records give the same text."""
    headings, cells, is_best = table_cells(experiment, records)
    if not cells:
        return footnote(experiment, records)
    lines = [
        _markdown_line(headings),
        _markdown_line([":--" if heading in LABELS else "--:" for heading in headings]),
    ]
    for line, marks in zip(cells, is_best, strict=True):
        lines.append(_markdown_line([f"**{cell}**" if mark else cell for cell, mark in zip(line, marks, strict=True)]))
    return "\n".join([*lines, "", footnote(experiment, records)])


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def footnote(experiment: Experiment, records: Sequence[Record]) -> str:
    """Say what each ± means, what was measured when, and the command that does it again."""
    command = f"`gossamer reproduce {experiment.name}`"
    if not records:
        return f"Not run yet: {command}."
    several = max(len({record.seed for record in records if record.row == row.name}) for row in experiment.rows) > 1
    has_errors = any(record.standard_error for record in records)
    spread = "± standard deviation over seeds; " if several else "± standard error over users; " if has_errors else ""
    if experiment.paired is not None:
        spread += f"{experiment.paired.column} ± paired standard error over all users; "
    commits = sorted({(record.commit or "unknown")[:10] + ("+" if record.dirty else "") for record in records})
    cores = sorted({str(record.machine.get("cores")) for record in records})
    return (
        f"{spread}seconds and peak memory of one fit on {' or '.join(cores)} cores; "
        f"commit {', '.join(commits)}; {command}."
    )
