"""Phases of short series: what features know, what EM knows, and what both know together.

    python examples/plot_phases_of_series.py          # writes phases.svg

Eighty made-up people go through ten phases; of forty more we have features and fifty steps each. EM on fifty steps
alone confuses phases; a network with EM iterations as layers (NeuralEM) reads the features, too. Runs in about twenty
seconds on a CPU.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gossamer import datasets
from gossamer.data import Sequences
from gossamer.models.markov import NeuralEM
from gossamer.report.phase_figures import phase_timeline

SIZES = {"num_train": 80, "num_valid": 20, "num_test": 40}


def main() -> None:
    train, valid, test = (datasets.load("hsmm-collection", part=part, **SIZES) for part in ("train", "valid", "test"))
    models = {}
    for method in ("em", "neural-em", "oracle"):
        models[method] = NeuralEM(method=method, num_states=10, epochs=8, batch_size=10, num_starts=2).fit(train, valid)
        measured = models[method].evaluate(test)
        print(f"{method:>9}: {measured['label_accuracy']:.0%} of the steps have the right phase")

    stranger = Sequences(np.zeros((0, 5)), np.array([0, 0]), features=test.features[:1])
    means = models["neural-em"].models_for(stranger).parameters_["emission.means"][0]
    print(f"somebody new, of whom nothing was observed: phase 0 is expected around {np.round(means[0], 1)}")

    shown = test[:1]
    assert shown.states is not None
    paths = {"truth": shown.states} | {method: model.predict(shown) for method, model in models.items()}
    picture = Path("phases.svg")
    picture.write_text(phase_timeline(list(paths), list(paths.values())).svg, encoding="utf-8")
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()
