"""Benchmark records (results/bench/<name>.json) as Markdown: ours, each peer, and peer ÷ ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gossamer.persistence.strict_json import parse_json


def bench_table(path: Path) -> str:
    """Return the table of one benchmark record; ratios above 1 mean that ours is faster or needs less memory."""
    if not path.is_file():
        return f"Not run yet: `make bench` writes {path.name}."
    record: Any = parse_json(path.read_bytes())
    lines = ["| contender | seconds | added memory | time ÷ ours | memory ÷ ours |", "|:--|--:|--:|--:|--:|"]
    lines.append(_line("gossamer", record["ours"], {}))
    lines += [_line(peer, measured, record["ratios"][peer]) for peer, measured in record["peers"].items()]
    versions = ", ".join(f"{name} {record['versions'][name]}" for name in ("implicit", "irspack"))
    mark = "+" if record["dirty"] else ""
    return "\n".join(
        [
            *lines,
            "",
            f"{record['question']}; median of {record['repeats']} on {record['machine']['cores']} cores; {versions}; "
            f"commit {(record['commit'] or 'unknown')[:10]}{mark}.",
        ]
    )


def _line(contender: str, measured: dict[str, float], ratios: dict[str, float]) -> str:
    cells = [f"{measured['seconds']:.3g}", f"{measured['added_bytes'] / 1e6:,.0f} MB"]
    cells += [f"{ratios[key]:.2f}" if key in ratios else "" for key in ("seconds", "added_bytes")]
    return f"| {contender} | {' | '.join(cells)} |"
