"""Figures 4 and 6 on our own runs: objective (6) over the numbers of anchors, and where the one run of NBANT ends.

    gossamer reproduce nbant-ml1m                           # writes the records of figure 4
    gossamer reproduce nbant-grid-ml1m                      # and those of figure 6
    python benchmarks/plot_nbant.py [folder] [page.md]      # writes both as SVG there, and prints what table 14 shows

The table says which number of anchors each lambda1 would choose among the runs of figure 4 (model selection, eq 35). It
goes between the marks of a page, as does what the figures show.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from pages import in_lines, write_between
from select_ptb import choice_table, origin_of

from gossamer.models.embeddings.model_selection import TrainedRun, pareto_front
from gossamer.report.svg import INK, SERIES_COLOURS, draw_svg, write_svg
from gossamer.runner.experiment import find_experiment
from gossamer.runner.records import Record, read_records

LAMBDAS1 = (5e-5, 5e-4, 5e-3)  # a tenth of what the runs were trained with, the same, ten times as much


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    grid, learned = records_of("nbant-ml1m")
    pairs, learned_beside_pairs = records_of("nbant-grid-ml1m")
    write_svg(draw_svg(painter(objectives(grid), learned)), folder / "nbant-ml1m.svg")
    write_svg(draw_svg(map_painter(pairs, learned_beside_pairs), height=330), folder / "nbant-grid-ml1m.svg")
    written = {
        "figure-4": tell_figure_4(grid, learned),
        "figure-6": tell_figure_6(pairs, learned_beside_pairs),
        "choice-nbant-ml1m": choice_table(
            trained_runs(grid), LAMBDAS1, {"mse": lambda run: f"{run.loss:.4f}"}, origin_of(grid)
        ),
    }
    front = [run.name for run in pareto_front(trained_runs(grid))]
    print(*written.values(), f"Pareto front of anchors and mse + lambda2·nnz: {', '.join(front)}", sep="\n\n")
    print(f"wrote {folder / 'nbant-ml1m.svg'} and {folder / 'nbant-grid-ml1m.svg'}")
    if len(sys.argv) > 2:
        for name, text in written.items():
            write_between(Path(sys.argv[2]), name, text)


def records_of(name: str) -> tuple[list[Record], list[Record]]:
    """Return the records of an experiment's grid, and those of NBANT."""
    records = read_records(find_experiment(name).results)
    grid = [record for record in records if record.row.startswith("grid-")]
    learned = [record for record in records if record.row == "nbant"]
    if not grid or not learned:
        raise SystemExit(f"no records of the rows grid-* and nbant; run: gossamer reproduce {name}")
    return grid, learned


def tell_figure_4(grid: list[Record], learned: list[Record]) -> str:
    means = objectives(grid)
    best = min(means, key=means.__getitem__)
    found = mean_of(learned, "objective")
    return in_lines(
        f"The lowest mean of the grid's {len(means)} is {means[best]:.4f}, at {best} anchors for users and as many for "
        f"items. NBANT reaches {found:.4f} ({100 * (found / means[best] - 1):+.2f} %) with {anchors_of(learned)} "
        f"anchors, by seed, in {seconds_of(learned) / seconds_of(grid):.2f} of the grid's time."
    )


def tell_figure_6(pairs: list[Record], learned: list[Record]) -> str:
    best = min(pairs, key=lambda record: record.metrics["objective"])
    lowest, found = best.metrics["objective"], mean_of(learned, "objective")
    users, items = best.settings["initial_anchors"]
    num_above = sum(record.metrics["objective"] > found for record in pairs)
    return in_lines(
        f"The lowest of the grid's {len(pairs)} is {lowest:.4f}, at {users} anchors for users and {items} for items. "
        f"NBANT reaches {found:.4f} ({100 * (found / lowest - 1):+.2f} %) with {anchors_of(learned)} of each: lower "
        f"than {num_above} of the grid's {len(pairs)}."
    )


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


def map_painter(pairs: list[Record], learned: list[Record]) -> Callable[[Axes], None]:
    """Return what draws objective (6) as a map, with what lies below NBANT's value, the paper's red plane, outlined."""
    users, items = (sorted({record.settings["initial_anchors"][side] for record in pairs}) for side in (0, 1))
    values = np.full((len(items), len(users)), np.nan)
    for record in pairs:
        of_user, of_item = record.settings["initial_anchors"]
        values[items.index(of_item), users.index(of_user)] = record.metrics["objective"]
    found = mean_of(learned, "objective")
    number = [record.metrics["num_anchors"] / 2 for record in learned]  # the same for users and items

    def paint(axes: Axes) -> None:
        # One colour of rising strength, so that the page's own text colour is legible on it, on white and on black.
        strength = (values - np.nanmin(values)) / (np.nanmax(values) - np.nanmin(values))
        for (row, column), value in np.ndenumerate(values):
            if np.isnan(value):
                continue
            colour = to_rgba(SERIES_COLOURS[0], 0.05 + 0.55 * float(strength[row, column]))
            edge = SERIES_COLOURS[1] if value < found else "none"
            axes.add_patch(Rectangle((column - 0.47, row - 0.47), 0.94, 0.94, facecolor=colour, edgecolor=edge))
            axes.text(column, row, f"{value:.4f}", ha="center", va="center", color=INK, fontsize=11)
        axes.add_patch(Rectangle((0, 0), 0, 0, facecolor="none", edgecolor=SERIES_COLOURS[1], label="below it"))
        axes.plot(
            np.interp(number, users, np.arange(len(users))),
            np.interp(number, items, np.arange(len(items))) + 0.3,
            "D",
            color=SERIES_COLOURS[1],
            label=f"NBANT: {found:.4f}",
        )
        axes.set_xticks(range(len(users)), [str(number) for number in users])
        axes.set_yticks(range(len(items)), [str(number) for number in items])
        axes.grid(visible=False)
        axes.set_xlabel("anchors of users")
        axes.set_ylabel("anchors of items")
        axes.set(xlim=(-0.6, len(users) - 0.4), ylim=(-0.6, len(items) - 0.4))
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    return paint


def objectives(grid: list[Record]) -> dict[int, float]:
    return {number: mean_of(runs, "objective") for number, runs in by_anchors(grid).items()}


def by_anchors(grid: list[Record]) -> dict[int, list[Record]]:
    numbers = sorted({int(record.settings["initial_anchors"]) for record in grid})
    return {number: [record for record in grid if record.settings["initial_anchors"] == number] for number in numbers}


def trained_runs(grid: list[Record]) -> list[TrainedRun]:
    return [
        TrainedRun(
            name=f"{number} + {number}",
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
