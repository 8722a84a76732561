"""How far apart two rows of an experiment are from seed to seed, in a sentence for a page.

    python benchmarks/write_seed_spread.py bihgnn-ml1m bihgnn graphsage ndcg@100 docs/families/community.md

The table's ± of a difference is over users, with the trainings that there were; this is over trainings. The sentence
goes between the marks `written: <experiment>-seeds` of the page.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from pages import in_lines, write_between

from gossamer.runner.experiment import find_experiment
from gossamer.runner.records import Record, read_records


def differences(records: list[Record], row: str, against: str, metric: str) -> list[float]:
    """Return one difference per seed that both rows have."""
    ours, theirs = ({run.seed: run.metrics[metric] for run in records if run.row == name} for name in (row, against))
    return [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]


def main() -> None:
    name, row, against, metric, page = sys.argv[1:]
    found = differences(read_records(find_experiment(name).results), row, against, metric)
    if len(found) < 2:
        raise SystemExit(f"{name} must have two seeds of {row} and {against} at least, got {len(found)}")
    error = statistics.stdev(found) / len(found) ** 0.5
    text = in_lines(
        f"Over seeds, {row} is {statistics.fmean(found):+.4f} ± {error:.4f} in {metric} from {against} (mean and "
        f"standard error of {len(found)} differences, one per seed, from {min(found):+.4f} to {max(found):+.4f}; "
        f"above 0 with {sum(value > 0 for value in found)} of them)."
    )
    print(text)
    write_between(Path(page), f"{name}-seeds", text)


if __name__ == "__main__":
    main()
