"""Benchmark records (results/bench/<name>.json) as Markdown: ours, each peer, and peer ÷ ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gossamer.persistence.strict_json import parse_json

TIME_AND_MEMORY = {"seconds": "seconds", "added_bytes": "added memory"}


def bench_table(path: Path) -> str:
    """Return the table of one benchmark record; ratios above 1 mean that ours is faster or needs less memory.

    What is measured beside time and memory, such as the bound that was reached, stands last, without a ratio.
    """
    if not path.is_file():
        return f"Not run yet: `make bench` writes {path.name}."
    record: Any = parse_json(path.read_bytes())
    columns: dict[str, str] = record.get("columns", TIME_AND_MEMORY)
    outcomes = [key for key in record["ours"] if key not in columns and key != "added_bytes"]
    titles = [*columns.values(), *(f"{_short(title)} ÷ ours" for title in columns.values())]
    titles += [key.replace("_", " ") for key in outcomes]
    lines = [f"| contender | {' | '.join(titles)} |", "|:--|" + "--:|" * len(titles)]
    lines.append(_line("gossamer", record["ours"], {}, columns, outcomes))
    for peer, measured in record["peers"].items():
        lines.append(_line(peer, measured, record["ratios"][peer], columns, outcomes))
    packages = record.get("packages", ["implicit", "irspack"])
    versions = ", ".join(f"{name} {record['versions'][name]}" for name in packages)
    if "client" in record:
        versions += f"; asked by {record['client']['name']}"
    mark = "+" if record["dirty"] else ""
    return "\n".join(
        [
            *lines,
            "",
            f"{record['question']}; median of {record['repeats']} on {record['machine']['cores']} cores; {versions}; "
            f"commit {(record['commit'] or 'unknown')[:10]}{mark}.",
        ]
    )


def _short(title: str) -> str:
    return {"seconds": "time", "added memory": "memory"}.get(title, title)


def _line(
    contender: str,
    measured: dict[str, float],
    ratios: dict[str, float],
    columns: dict[str, str],
    outcomes: list[str],
) -> str:
    cells = [_cell(key, measured[key]) for key in columns]
    cells += [f"{ratios[key]:.2f}" if key in ratios else "" for key in columns]
    cells += [f"{measured[key]:,.6g}" for key in outcomes]
    return f"| {contender} | {' | '.join(cells)} |"


def _cell(key: str, value: float) -> str:
    if key.endswith("bytes"):
        return f"{value / 1e6:,.0f} MB"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
