"""By how many points COBLA is ahead of the best other allocator, in one table over all experiments with budgets.

    python benchmarks/write_budget_leads.py docs/families/lowrank.md

Rows of these experiments are called <allocator>-<treatment>-<budget>. A cell is the mean over seeds of the difference
in test accuracy, its standard error and the number of seeds that both have; the rival is the allocator with the best
mean there. It goes between the marks `written: cobla-leads`.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from pages import write_between
from write_budget_matrix import METRIC, ROW, TREATMENTS
from write_seed_spread import differences

from gossamer.runner.experiment import find_experiment
from gossamer.runner.records import Record, read_records

EXPERIMENTS = {
    f"cobla-cifar-{name}-{scheme}": f"{title}, {scheme}"
    for name, title in {"resnet20": "ResNet-20", "resnet56": "ResNet-56", "nin": "NIN"}.items()
    for scheme in ("spatial", "channel")
}
OURS, FLIP = "cobla-answers", "-flip"
RIVALS = {
    "pos-cvx": "POS-CVX",
    "pos-greedy": "POS-Greedy",
    "cptv": "CPTV",
    "vbmf": "R-VBMF",
    "gavish-donoho": "hard threshold",
    "uniform": "uniform",
}
LEVEL = 0.05  # of a point: less is not shown as a lead


def main() -> None:
    write_between(Path(sys.argv[1]), "cobla-leads", leads())


def leads() -> str:
    """Return the table."""
    lines = ["| network, scheme | budget | " + " | ".join(TREATMENTS.values()) + " |"]
    lines.append("|---|--:|" + "--:|" * len(TREATMENTS))
    for name, title in EXPERIMENTS.items():
        records = read_records(find_experiment(name).results)
        budgets = sorted({int(match[3]) for match in map(ROW.fullmatch, (one.row for one in records)) if match})
        for budget in reversed(budgets):
            cells = [_cell(records, treatment, budget) for treatment in TREATMENTS]
            lines.append(f"| {title} | {budget / 100} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(records: list[Record], treatment: str, budget: int) -> str:
    """Return COBLA's lead; on images flipped alone where there are such rows, because then they are the network's."""
    end = f"{treatment}-{budget}"
    rows = {record.row for record in records}
    flip = FLIP if f"{OURS}{FLIP}-{end}" in rows else ""
    shown = "" if treatment == "as-is" else flip  # rules look at no images then
    rivals = [key for key in RIVALS if f"{key}{shown}-{end}" in rows]
    if f"{OURS}{flip}-{end}" not in rows or not rivals:
        return ""
    best = max(rivals, key=lambda key: _mean(records, f"{key}{shown}-{end}"))
    found = differences(records, f"{OURS}{flip}-{end}", f"{best}{shown}-{end}", METRIC)
    points = [100 * one for one in found]
    mean = statistics.fmean(points)
    error = statistics.stdev(points) / len(points) ** 0.5 if len(points) > 1 else None
    text = f"{mean:+.1f}" if error is None else f"{mean:+.1f} ± {error:.1f} ({len(points)})"
    if mean > max(error or 0.0, LEVEL):
        text = f"**{text}**"
    elif mean < -max(error or 0.0, LEVEL):
        text = f"*{text}*"
    return text if best == "pos-cvx" else f"{text}, {RIVALS[best]}"


def _mean(records: list[Record], row: str) -> float:
    return statistics.fmean(record.metrics[METRIC] for record in records if record.row == row)


if __name__ == "__main__":
    main()
