"""Which gradient should pass through EM layers? Its direction, its deviation and its time per step.

A network that has been trained for a few updates stands still; the gradient of its loss (4.11) by all weights is taken
again and again. "gradient_cosine" is with the exact gradient, "deviation" the standard deviation over draws, relative
to the exact gradient's norm. What training makes of each gradient is in the experiment dennl-synthetic.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from measuring import Arrays, Contender, run_benchmark

from gossamer import datasets
from gossamer.data import Sequences
from gossamer.models.markov import NeuralEM
from gossamer.models.markov.neural.arguments import unrolled_of
from gossamer.models.markov.neural.em_layer import log_likelihood, observe

REPEATS = 8


def make_series(num_series: int, length: int) -> Arrays:
    """Return series of the made-up collection."""
    data = datasets.load("hsmm-collection", num_train=num_series, length=length)
    return {"observations": data.observations, "offsets": data.offsets, "features": data.features}


def load_series(arrays: Arrays) -> Sequences:
    """Return the series that `make_series` made."""
    return Sequences(arrays["observations"], arrays["offsets"], features=arrays["features"])


def judged(gradient: str, perturbations: int = 1) -> Contender:
    """Return a contender that takes the gradient of one loss, again and again."""

    def prepare(data: Sequences) -> Callable[[], dict[str, float]]:
        torch.set_num_threads(1)
        model = NeuralEM(num_states=10, num_starts=1, start_epochs=10, epochs=3, batch_size=10, dropout=0.0).fit(data)
        batch, problem, network = model._read(data), model._problem(), model.network_
        assert network is not None
        network.train()
        series = observe(batch, problem.emission, model.n_features_in_)
        features = torch.from_numpy(model._features(batch))
        generator = torch.Generator().manual_seed(0)

        def take(way: str) -> np.ndarray:
            network.zero_grad()
            layers = replace(unrolled_of(model), gradient=way, perturbations=perturbations)
            vectors = network(features, series, problem, layers, generator)
            likelihood = log_likelihood(problem.layout.unpack(vectors), series, problem.emission, problem.longest)
            (-likelihood.sum() / series.num_observed).backward()
            return torch.cat([weight.grad.flatten() for weight in network.parameters()]).numpy()  # type: ignore[union-attr]

        exact = take("exact")
        take(gradient)  # what is compiled, is compiled

        def measure() -> dict[str, float]:
            began = time.perf_counter()
            drawn = np.stack([take(gradient) for _ in range(REPEATS)])
            seconds = (time.perf_counter() - began) / REPEATS
            norms = np.linalg.norm(drawn, axis=1) * np.linalg.norm(exact)
            spread = np.sqrt(drawn.var(axis=0, ddof=1).sum()) / np.linalg.norm(exact)
            return {
                "seconds": seconds,
                "gradient_cosine": float((drawn @ exact / norms).mean()),
                "deviation": float(spread),
            }

        return measure

    return prepare


if __name__ == "__main__":
    run_benchmark(
        "spsa",
        "the gradient of one loss, 40 series of 50 steps, 10 states, three EM layers; gossamer is the exact one",
        {"num_series": 40, "length": 50},
        {
            "exact": judged("exact"),
            "stopped": judged("stopped"),
            "SPSA × 1": judged("spsa", 1),
            "SPSA × 4": judged("spsa", 4),
            "SPSA × 16": judged("spsa", 16),
            "SPSA × 64": judged("spsa", 64),
        },
        small={"num_series": 12, "length": 20},
        make=make_series,
        load=load_series,
        costs={"seconds": "seconds"},
        packages=("torch",),
    )
