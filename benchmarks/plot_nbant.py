"""Figure 4 on our own runs: objective (6) over the number of anchors, and where the one run of NBANT ends.

    gossamer reproduce nbant-ml1m                 # writes the records
    python benchmarks/plot_nbant.py [folder]      # writes nbant-ml1m.svg there, and prints what table 14 shows

The table says which number of anchors each lambda1 would choose among the runs of the grid (model selection, eq 35).
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes

from gossamer.models.embeddings.model_selection import TrainedRun, pareto_front, preferences
from gossamer.report.svg import SERIES_COLOURS, draw_svg, write_svg
from gossamer.runner.experiment import find_experiment
from gossamer.runner.records import Record, read_records


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    records = read_records(find_experiment("nbant-ml1m").results)
    grid = [record for record in records if record.row.startswith("grid-")]
    learned = [record for record in records if record.row == "nbant"]
    if not grid or not learned:
        raise SystemExit("no records of the rows grid-* and nbant; run: gossamer reproduce nbant-ml1m")
    means = {number: mean_of(runs, "objective") for number, runs in by_anchors(grid).items()}
    write_svg(draw_svg(painter(means, learned)), folder / "nbant-ml1m.svg")
    best = min(means, key=means.__getitem__)
    found = mean_of(learned, "objective")
    print(f"grid of {len(means)}: lowest objective {means[best]:.4f} at {best} + {best} anchors")
    print(f"NBANT: {found:.4f}, {100 * (found / means[best] - 1):+.2f} %, K = {anchors_of(learned)}")
    print(f"time: one run takes {seconds_of(learned) / seconds_of(grid):.3f} of the grid's")
    for preference in preferences(trained_runs(grid)):
        print(f"lambda1 from {preference.low:.1e} to {preference.high:.1e}: {preference.run.name} anchors")
    front = [run.name for run in pareto_front(trained_runs(grid))]
    print(f"Pareto front of anchors and mse + lambda2·nnz: {', '.join(front)}")
    print(f"wrote {folder / 'nbant-ml1m.svg'}")


def painter(means: dict[int, float], learned: list[Record]) -> Callable[[Axes], None]:
    def paint(axes: Axes) -> None:
        axes.plot(list(means), list(means.values()), marker="o", color=SERIES_COLOURS[0], label="grid")
        axes.plot(
            [record.metrics["num_anchors"] / 2 for record in learned],
            [record.metrics["objective"] for record in learned],
            "D",
            color=SERIES_COLOURS[1],
            label="NBANT, one run per seed",
        )
        axes.axhline(mean_of(learned, "objective"), color=SERIES_COLOURS[1], linestyle="--", linewidth=1)
        axes.set_xlabel("anchors of users and of items")
        axes.set_ylabel("objective (6), test ratings")
        axes.legend(frameon=False)

    return paint


def by_anchors(grid: list[Record]) -> dict[int, list[Record]]:
    numbers = sorted({int(record.settings["initial_anchors"]) for record in grid})
    return {number: [record for record in grid if record.settings["initial_anchors"] == number] for number in numbers}


def trained_runs(grid: list[Record]) -> list[TrainedRun]:
    return [
        TrainedRun(
            name=str(number),
            loss=mean_of(runs, "test_mse"),
            nnz=round(mean_of(runs, "nnz")),
            num_anchors=2 * number,
            lambda2=float(runs[0].settings["lambda2"]),
        )
        for number, runs in by_anchors(grid).items()
    ]


def mean_of(records: list[Record], metric: str) -> float:
    return statistics.fmean(record.metrics[metric] for record in records)


def anchors_of(records: list[Record]) -> str:
    return ", ".join(f"{record.metrics['num_anchors'] / 2:.0f}" for record in records)


def seconds_of(records: list[Record]) -> float:
    """Return the seconds of all rows together, per seed."""
    return sum(record.seconds for record in records) / len({record.seed for record in records})


if __name__ == "__main__":
    main()
