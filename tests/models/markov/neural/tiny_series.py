"""A tiny problem for tests of EM layers: few series, two states, everything in double precision."""

from __future__ import annotations

import numpy as np
import torch

from gossamer.models.markov.emissions import EMISSIONS, Prior
from gossamer.models.markov.inputs import Batch
from gossamer.models.markov.neural.em_layer import Series, observe
from gossamer.models.markov.neural.layout import Layout
from gossamer.models.markov.neural.network import Problem, Unrolled

GAUSSIAN = EMISSIONS["gaussian"]


def tiny_batch(num_series: int = 3, length: int = 8, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    states = np.tile(np.arange(length) // 4 % 2, num_series)
    values = 2.0 * states[:, None] + rng.normal(size=(num_series * length, 1))
    return Batch(values, np.arange(num_series + 1) * length, states=states)


def tiny_parameters(num_series: int = 1) -> dict[str, torch.Tensor]:
    start = {
        "initial": [[0.6, 0.4]],
        "transition": [[[0.0, 1.0], [1.0, 0.0]]],
        "duration.rates": [[2.0, 3.0]],
        "emission.means": [[[0.3], [1.6]]],
        "emission.variances": [[[1.2], [0.8]]],
    }
    tensors = {name: torch.tensor(value, dtype=torch.double) for name, value in start.items()}
    return {name: value.repeat(num_series, *[1] * (value.ndim - 1)) for name, value in tensors.items()}


def tiny_problem(batch: Batch, longest: int = 8) -> Problem:
    prior = Prior(0.1, 1.0, 1e-3)
    prior = GAUSSIAN.prior_for(GAUSSIAN.observe(batch.values, 1), batch.values, prior)
    layout = Layout(2, GAUSSIAN.shapes(2, 1), tiny_parameters())
    return Problem(layout, GAUSSIAN, prior, 2.5, longest)


def tiny_series(batch: Batch) -> Series:
    return observe(batch, GAUSSIAN, 1)


def layers(**changes: object) -> Unrolled:
    usual: dict[str, object] = {"num_layers": 2, "gradient": "exact", "final": "network", "is_mixed": True}
    usual |= {"is_between": True, "perturbations": 4, "c": 0.01}
    return Unrolled(**(usual | changes))  # type: ignore[arg-type]
