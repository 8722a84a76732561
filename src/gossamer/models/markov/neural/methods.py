"""How a method makes parameters of a series: by EM alone, from features alone, or by both in a network."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.models.markov.emissions import Parameters
from gossamer.models.markov.inputs import Batch
from gossamer.models.markov.labels import match_labels
from gossamer.models.markov.neural.em_layer import Series, improve
from gossamer.models.markov.neural.network import Problem, Unrolled
from gossamer.models.markov.together import largest

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

METHODS = ("neural-em", "em", "em-mapping", "mlp-mapping", "initial-fusion", "pooled-em", "oracle")
WITH_NETWORK = ("neural-em", "em-mapping", "mlp-mapping", "initial-fusion")


def unrolled_for(method: str, asked: Unrolled) -> Unrolled:
    """Return the network's layers for a method.

    MLP and EM mapping have none, and initial fusion ends with EM iterations and nothing in between.
    """
    if method in ("mlp-mapping", "em-mapping"):
        return replace(asked, num_layers=0)
    if method == "initial-fusion":
        return replace(asked, is_between=False, final="em")
    return asked


def run_em(start: Parameters, series: Series, problem: Problem, *, iterations: int, tolerance: float) -> Parameters:
    """Return the parameters of every series by EM on its own observations, from a common or an own start.

    It ends when an iteration raises no likelihood by more than `tolerance` per step.
    """
    num_series = len(series.offsets) - 1
    parameters = {name: value.expand(num_series, *value.shape[1:]).clone() for name, value in start.items()}
    lengths = torch.from_numpy(np.diff(series.offsets)).clamp_min(1)
    before = torch.full((num_series,), -torch.inf, dtype=torch.double)
    with torch.no_grad():
        for _ in range(iterations):
            found = improve(parameters, series, problem.emission, problem.prior, problem.usual_rate, problem.longest)
            parameters = found.parameters
            if ((found.log_likelihood - before) / lengths).max() < tolerance:
                break
            before = found.log_likelihood
    return parameters


def name_states(parameters: Parameters, found: np.ndarray, batch: Batch, sharing: Sharing | None = None) -> Parameters:
    """Number states after the true ones of training data, by one matching for all series, where these are known.

    Series that processes have divided among them are matched together.
    """
    num_states = parameters["initial"].shape[1]
    last = num_states if batch.states is None else int(batch.states.max(initial=0))
    if largest(last, sharing) >= num_states or batch.states is None:
        return parameters
    matching = match_labels(found, batch.states, sharing)
    for state in range(num_states):
        matching.setdefault(state, state)
    order = torch.tensor(sorted(range(num_states), key=matching.__getitem__))
    renamed = {name: value[:, order] for name, value in parameters.items()}
    renamed["transition"] = renamed["transition"][:, :, order]
    return renamed


def hidden_steps(num_steps: int, share: float, generator: np.random.Generator) -> np.ndarray:
    """Return which steps are hidden, each by itself with this probability.

    >>> hidden_steps(4, 0.0, np.random.default_rng(0)).tolist()
    [False, False, False, False]
    """
    return np.asarray(generator.random(num_steps) < share)


def oracle_vectors(batch: Batch, problem: Problem) -> Float[Tensor, "B M"]:
    """Return the parameters that series of the data set "hsmm-collection" were made with, found by their names."""
    from gossamer.datasets.hsmm_collection import true_parameters

    if batch.names is None:
        raise ValueError("data must be of the data set 'hsmm-collection' for method='oracle', got series without names")
    true = {name: torch.from_numpy(value) for name, value in true_parameters(batch.names).items()}
    return problem.layout.pack(true)
