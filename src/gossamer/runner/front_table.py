"""The table of the front page: a line per claim, ours beside a rival, every number from the records of experiments."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gossamer.runner.experiment import Experiment, find_experiments, read_experiment
from gossamer.runner.records import Record, read_records
from gossamer.runner.search import lower_is_better
from gossamer.runner.specs import check_keys
from gossamer.runner.table import table_frame

FRONT = "front"
HEADINGS = ("what for", "data", "measure", "gossamer", "beside it")
LINE_KEYS = ("claim", "data", "page", "experiment", "metric", "ours", "rival")
Source = Callable[[str], tuple[Experiment, Sequence[Record]]]


def front_table(path: Path, source: Source | None = None) -> str:
    """Return the lines of a TOML file as Markdown; `source` gives an experiment by its name, and its records.

    The better of the two values is bold. Where the experiment counts the values that a model stores, both are told.
    """
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    check_keys(path.name, content, ["line"], ["line"])
    lines = [_line(line, source or _recorded) for line in content["line"]]
    names = dict.fromkeys(f"`{line['experiment']}`" for line in content["line"])
    how = "Test data, means where there are several seeds, the better in bold"
    note = f"{how}; `gossamer reproduce` with {', '.join(names)}."
    table = [list(HEADINGS), [":--"] * 3 + ["--:"] * 2, *lines]
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in table] + ["", note])


def _recorded(name: str) -> tuple[Experiment, Sequence[Record]]:
    known = find_experiments()
    if name not in known:
        raise ValueError(f"experiment must be one of {', '.join(known)}, got {name!r}")
    experiment = read_experiment(known[name])
    return experiment, read_records(experiment.results)


def _line(line: Mapping[str, Any], source: Source) -> list[str]:
    check_keys("line", line, LINE_KEYS, LINE_KEYS)
    experiment, records = source(line["experiment"])
    metric = line["metric"]
    if metric not in experiment.metrics:
        raise ValueError(f"metric must be one of {', '.join(experiment.metrics)}, got {metric!r}")
    means = {row["row"]: row for row in table_frame(experiment, records).iter_rows(named=True)}
    sides = [line["ours"], line["rival"]]
    for side in sides:
        check_keys("line", side, ["row", "name"], ["row", "name"])
        if means.get(side["row"], {}).get(metric) is None:
            raise ValueError(f"row must be one of {experiment.name} with records of {metric}, got {side['row']!r}")
    found = [means[side["row"]] for side in sides]
    best = (min if lower_is_better(metric) else max)(row[metric] for row in found)
    cells = [_cell(side["name"], row, metric, row[metric] == best) for side, row in zip(sides, found, strict=True)]
    direction = "↓" if lower_is_better(metric) else "↑"
    return [f"[{line['claim']}]({line['page']})", line["data"], f"{metric.removeprefix('test_')} {direction}", *cells]


def _cell(name: str, row: Mapping[str, Any], metric: str, is_best: bool) -> str:
    value = f"{row[metric]:.4g}"
    values = row.get("values")
    size = "" if values is None else f", {values:,.0f} values"
    return f"{name}: {f'**{value}**' if is_best else value}{size}"
