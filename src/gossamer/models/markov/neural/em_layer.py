"""An EM iteration as a layer (4.12): parameters of every series in, better ones for its own observations out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from gossamer.models.markov.durations import poisson_log_table
from gossamer.models.markov.emissions import Emission, Observed, Parameters, Prior, owner_sums
from gossamer.models.markov.emissions.family import dirichlet_mode, log_probs
from gossamer.models.markov.hsmm_recursions import hsmm_expected_counts, hsmm_log_likelihood
from gossamer.models.markov.inputs import Batch
from gossamer.models.markov.ragged import sequence_numbers
from gossamer.models.markov.step import EMISSION, emission_part


class Series(NamedTuple):
    """Observations of several series as an E-step takes them."""

    observed: Observed
    offsets: Int64[np.ndarray, " B+1"]
    owners: Int64[Tensor, " N"]
    num_observed: int


class Improved(NamedTuple):
    """What an EM iteration returns: parameters, expected steps in each state, and the likelihood before it."""

    parameters: Parameters
    counts: Float[Tensor, "B K"]
    log_likelihood: Float[Tensor, " B"]


def observe(batch: Batch, emission: Emission, size: int, hidden: Bool[np.ndarray, " N"] | None = None) -> Series:
    """Return the observations of a batch, without those that are hidden."""
    values = batch.values
    if hidden is not None:
        values = np.where(hidden if values.ndim == 1 else hidden[:, None], -1 if values.ndim == 1 else np.nan, values)
    is_missing = values < 0 if values.ndim == 1 else np.isnan(values).all(axis=1)
    observed = emission.observe(values, size)
    return Series(observed, batch.offsets, sequence_numbers(batch.offsets), int((~is_missing).sum()))


def log_likelihood(parameters: Parameters, series: Series, emission: Emission, longest: int) -> Float[Tensor, " B"]:
    """Return log p(x) of every series under its own parameters (4.11); differentiable."""
    log_emissions = emission.log_density(series.observed, emission_part(parameters), series.owners)
    return hsmm_log_likelihood(*_logs(parameters, longest), log_emissions, series.offsets)


def improve(
    parameters: Parameters, series: Series, emission: Emission, prior: Prior, usual_rate: float, longest: int
) -> Improved:
    """Make one EM iteration for every series by itself; differentiable, also through the E-step.

    The rate of durations matches the mean of the expected ones: the maximum but for the tail beyond the longest.
    `usual_rate` is what the pseudo-count of durations believes in.
    """
    num_series = len(series.offsets) - 1
    emitting = emission_part(parameters)
    log_emissions = emission.log_density(series.observed, emitting, series.owners)
    found = hsmm_expected_counts(*_logs(parameters, longest), log_emissions, series.offsets)
    sums = owner_sums(series.observed, found.states, series.owners, num_series)
    emitted = emission.maximise(sums, series.observed, prior, emitting)
    pseudo, num_states = prior.pseudo_count, found.states.shape[1]
    others = 1 - torch.eye(num_states, dtype=torch.double)
    more = torch.arange(longest, dtype=torch.double)
    lasted, segments = (found.duration * more).sum(-1), found.duration.sum(-1)
    improved = {
        "initial": dirichlet_mode(found.initial, pseudo, parameters["initial"]),
        "transition": dirichlet_mode(found.transition + pseudo * others, 0.0, parameters["transition"]),
        "duration.rates": (lasted + pseudo * usual_rate) / (segments + pseudo).clamp_min(1e-10),
        **{EMISSION + name: value for name, value in emitted.items()},
    }
    steps = found.states.new_zeros(num_series, num_states).index_add(0, series.owners, found.states.detach())
    return Improved(improved, steps, found.log_likelihood)


def _logs(parameters: Parameters, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    table = poisson_log_table(parameters["duration.rates"], longest)
    return log_probs(parameters["initial"]), log_probs(parameters["transition"]), table
