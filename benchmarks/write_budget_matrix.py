"""What an experiment with budgets comes to, in one small table for a page: allocators down, treatments across.

    python benchmarks/write_budget_matrix.py docs/families/lowrank.md cobla-cifar-nin-spatial cobla-cifar-nin-channel

Rows of such an experiment are called <allocator>-<treatment>-<budget>. A cell is the mean test accuracy of its seeds,
and where there are several, their standard deviation and number. It goes between the marks
`written: <experiment>-matrix`.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from pages import write_between

from gossamer.runner.experiment import find_experiment
from gossamer.runner.records import read_records

METRIC = "test_accuracy"
TREATMENTS = {
    "as-is": "as is",
    "recalibrated": "recalibrated",
    "fitted": "fitted, recalibrated",
    "refitted": "refitted, recalibrated",
    "tuned": "fine-tuned",
}
ALLOCATORS = {
    "cobla-answers": "**COBLA**, guided by answers",
    "cobla-answers-flip": "**COBLA**, guided by answers, images flipped alone",
    "cobla-answers-long": "COBLA, guided by answers, polished longer",
    "cobla": "COBLA, guided by the loss",
    "pos-cvx": "POS-CVX",
    "pos-cvx-flip": "POS-CVX, images flipped alone",
    "pos-greedy": "POS-Greedy",
    "cptv": "CPTV",
    "vbmf": "R-VBMF",
    "gavish-donoho": "hard threshold",
    "uniform": "uniform",
    "prune": "channels cut, masks by COBLA",
    "torch-pruning-taylor": "channels cut by torch-pruning, Taylor",
    "torch-pruning-magnitude": "channels cut by torch-pruning, magnitude",
}
ROW = re.compile(rf"(.+)-({'|'.join(TREATMENTS)})-(\d+)")
PEER = re.compile(r"(torch-pruning-.+)-(\d+)")  # whose batch norms are recalibrated


def main() -> None:
    page, *names = sys.argv[1:]
    for name in names:
        write_between(Path(page), f"{name}-matrix", matrix(name))


def matrix(name: str) -> str:
    """Return an experiment's table."""
    cells: dict[tuple[int, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    whole = []
    for record in read_records(find_experiment(name).results):
        match, peer = ROW.fullmatch(record.row), PEER.fullmatch(record.row)
        if match:
            cells[int(match[3]), match[2]][match[1]].append(record.metrics[METRIC])
        elif peer:
            cells[int(peer[2]), "recalibrated"][peer[1]].append(record.metrics[METRIC])
        elif record.row == "whole":
            whole.append(record.metrics[METRIC])
    treatments = [key for key in TREATMENTS if any(treatment == key for _, treatment in cells)]
    lines = ["| budget | allocator | " + " | ".join(TREATMENTS[key] for key in treatments) + " |"]
    lines.append("|---|---|" + "--:|" * len(treatments))
    lines += [f"| 1 | whole | {statistics.fmean(whole):.4f} |" + " |" * (len(treatments) - 1)] if whole else []
    for budget in sorted({budget for budget, _ in cells}, reverse=True):
        for allocator, title in ALLOCATORS.items():
            if any(allocator in cells[budget, key] for key in treatments):
                shown = [_cell(cells[budget, key], allocator) for key in treatments]
                lines.append(f"| {budget / 100} | {title} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _cell(found: dict[str, list[float]], allocator: str) -> str:
    values = found.get(allocator)
    if not values:
        return ""
    mean = statistics.fmean(values)
    text = f"{mean:.4f}"
    if mean == max(statistics.fmean(other) for other in found.values()):
        text = f"**{text}**"
    return f"{text} ± {statistics.stdev(values):.4f} ({len(values)})" if len(values) > 1 else text


if __name__ == "__main__":
    main()
