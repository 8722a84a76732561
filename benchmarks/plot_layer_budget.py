"""Figure 2.5 of the dissertation on our runs: what is left of each layer of a network within a budget.

    python benchmarks/plot_layer_budget.py docs/images

Rows of cobla-cifar-resnet20-spatial are fitted again with seed 0, because records hold no layers; what is drawn goes to
results/bench/layer-budget.json, and a second call draws from there. About 3 minutes of one core.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from measuring import RESULTS

from gossamer.persistence.strict_json import plain_json
from gossamer.report.budget_figure import draw_layer_shares
from gossamer.report.svg import write_svg
from gossamer.runner.estimators import make_estimator
from gossamer.runner.experiment import find_experiment
from gossamer.runner.machine import commit, machine, versions
from gossamer.runner.source import make_split, open_data

NAME = "layer-budget"
EXPERIMENT = "cobla-cifar-resnet20-spatial"
ROWS = ("cobla-answers-fitted-50", "pos-cvx-fitted-50")


def main() -> None:
    parser = argparse.ArgumentParser(description="what is left of each layer within a budget")
    parser.add_argument("folder", type=Path, help="where the figures go")
    folder = parser.parse_args().folder
    path = RESULTS / f"{NAME}.json"
    if not path.is_file():
        revision, is_dirty = commit()
        record = {"experiment": EXPERIMENT, "rows": measure(), "commit": revision, "dirty": is_dirty}
        record |= {"machine": machine(), "versions": versions()}
        path.write_text(json.dumps(plain_json("record", record), indent=1) + "\n", encoding="utf-8")
    for row, layers in json.loads(path.read_text(encoding="utf-8"))["rows"].items():
        write_svg(draw_layer_shares(layers).svg, folder / f"{EXPERIMENT}-{row}.svg")


def measure() -> dict[str, list[dict[str, Any]]]:
    """Fit the rows and return, for each, what is left of every layer."""
    experiment = find_experiment(EXPERIMENT)
    split = make_split(open_data(experiment.data, experiment.split), experiment.split, 0)
    found = {}
    for name in ROWS:
        row = experiment.row(name)
        model: Any = make_estimator(row.model, row.settings, seed=0)
        model.fit(split.train)
        found[name] = model.report_.table()[:-1]
    return found


if __name__ == "__main__":
    main()
