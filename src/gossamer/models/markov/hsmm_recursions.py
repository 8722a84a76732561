"""The explicit-duration hidden semi-Markov model as pure functions of logs, batched, ragged and differentiable.

Arguments are those of `hmm_recursions.py` and `log_duration` (K, D) or (B, K, D): log P(a segment of k lasts d steps),
d = 1 … D. The first segment begins with the sequence. The last one is cut off by its end if `censored`: it lasts as
long as it is seen or longer, so that P(≥ d), the sum of the table from d on, replaces P(d); else it ends there.
Usually `log_transition` is -inf on its diagonal; if it is not, a segment may be followed by another of the same state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.autograd.function import once_differentiable

from gossamer.models.markov import ragged
from gossamer.models.markov.hsmm_log_kernels import hsmm_log_backward, hsmm_log_forward, hsmm_viterbi
from gossamer.models.markov.hsmm_pass import HSMMPass, Logs, log_survival

Offsets = np.ndarray | Tensor


class HSMMCounts(NamedTuple):
    """Expected counts given the observations: the gradient of the log-likelihood by the logs of the parameters.

    `duration` counts segments by how long they last; one that is cut off is spread over the durations it may have.
    """

    log_likelihood: Float[Tensor, " B"]
    initial: Float[Tensor, "*owner K"]
    transition: Float[Tensor, "*owner K K"]
    duration: Float[Tensor, "*owner K D"]
    states: Float[Tensor, "N K"]


class SegmentLogs(NamedTuple):
    """Log probabilities (N, K) of segments that begin and that end at a step, each with one side's observations."""

    begins: Float[Tensor, "N K"]
    ends: Float[Tensor, "N K"]


def hsmm_log_likelihood(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_duration: Float[Tensor, "*owner K D"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
    *,
    censored: bool = True,
) -> Float[Tensor, " B"]:
    """Return log p(x) of every sequence; its gradient is made of the expected counts."""
    bounds, parameters = _checked(log_initial, log_transition, log_duration, log_emissions, offsets)
    apply: Any = _LogLikelihood.apply
    likelihood: Tensor = apply(*parameters, log_emissions, bounds, censored)
    return likelihood


def hsmm_expected_counts(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_duration: Float[Tensor, "*owner K D"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
    *,
    censored: bool = True,
) -> HSMMCounts:
    """Return the E-step, differentiable like `hmm_expected_counts`."""
    bounds, parameters = _checked(log_initial, log_transition, log_duration, log_emissions, offsets)
    apply: Any = _ExpectedCounts.apply
    likelihood, *counts, states = apply(*parameters, log_emissions, bounds, censored)
    given = (log_initial, log_transition, log_duration)
    initial, transition, duration = map(ragged.shaped_as, counts, given)
    return HSMMCounts(likelihood, initial, transition, duration, states)


def hsmm_posterior(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_duration: Float[Tensor, "*owner K D"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
    *,
    censored: bool = True,
) -> Float[Tensor, "N K"]:
    """Return P(z_t | x) of every step, differentiable."""
    parameters = (log_initial, log_transition, log_duration)
    return hsmm_expected_counts(*parameters, log_emissions, offsets, censored=censored).states


def hsmm_log_forward_values(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_duration: Float[Tensor, "*owner K D"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
    *,
    censored: bool = True,
) -> SegmentLogs:
    """Return log P(x_1..t-1, a segment of k begins at t) and log P(x_1..t, one ends, or is cut off, at t)."""
    bounds, parameters = _checked(log_initial, log_transition, log_duration, log_emissions, offsets)
    logs = _arrays(*parameters, log_emissions)
    begins, ends = np.empty_like(logs[-1]), np.empty_like(logs[-1])
    likelihood, everything = np.zeros(len(bounds) - 1), np.flatnonzero(np.diff(bounds))
    final = log_survival(logs[2]) if censored else logs[2]
    hsmm_log_forward(*logs[:3], final, logs[3], bounds, everything, begins, ends, likelihood)
    return SegmentLogs(*(torch.from_numpy(values).to(log_emissions) for values in (begins, ends)))


def hsmm_log_backward_values(
    log_transition: Float[Tensor, "*owner K K"],
    log_duration: Float[Tensor, "*owner K D"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
    *,
    censored: bool = True,
) -> SegmentLogs:
    """Return log P(x_t..T | a segment of k begins at t) and log P(x_t+1..T | one ends at t), 0 at the end."""
    no_initial = log_transition[..., 0]  # of the right shape; the values play no part
    bounds, parameters = _checked(no_initial, log_transition, log_duration, log_emissions, offsets)
    _, transition, duration, emissions = _arrays(*parameters, log_emissions)
    begins, ends = np.empty_like(emissions), np.empty_like(emissions)
    final = log_survival(duration) if censored else duration
    everything = np.flatnonzero(np.diff(bounds))
    hsmm_log_backward(transition, duration, final, emissions, bounds, everything, begins, ends)
    return SegmentLogs(*(torch.from_numpy(values).to(log_emissions) for values in (begins, ends)))


def hsmm_last_ages(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_duration: Float[Tensor, "*owner K D"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
) -> Float[Tensor, "B K D"]:
    """Return P(the last step is in k, d steps into its segment | x): all that the future depends on.

    Zeros for a sequence that is impossible, or empty.
    """
    bounds, parameters = _checked(log_initial, log_transition, log_duration, log_emissions, offsets)
    logs = _arrays(*parameters, log_emissions)
    made = HSMMPass(logs, bounds, wants_ages=True)
    made.settle()
    return torch.from_numpy(made.ages).to(log_emissions)


def hsmm_best_path(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_duration: Float[Tensor, "*owner K D"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
    *,
    censored: bool = True,
) -> tuple[Int64[Tensor, " N"], Float[Tensor, " B"]]:
    """Return the states of the most probable segmentation (Viterbi) and its log probability with the observations."""
    bounds, parameters = _checked(log_initial, log_transition, log_duration, log_emissions, offsets)
    logs = _arrays(*parameters, log_emissions)
    path, log_probs = np.zeros(len(log_emissions), dtype=np.int64), np.empty(len(bounds) - 1)
    hsmm_viterbi(*logs[:3], log_survival(logs[2]) if censored else logs[2], logs[3], bounds, path, log_probs)
    return torch.from_numpy(path), torch.from_numpy(log_probs).to(log_emissions)


def _checked(
    log_initial: Tensor, log_transition: Tensor, log_duration: Tensor, log_emissions: Tensor, offsets: Offsets
) -> tuple[np.ndarray, tuple[Tensor, Tensor, Tensor]]:
    bounds = ragged.check_sequences(log_emissions, offsets)
    num_sequences, num_states = len(bounds) - 1, log_emissions.shape[1]
    longest = log_duration.shape[-1] if log_duration.ndim else 0
    shapes = {
        "log_initial": (log_initial, (num_states,)),
        "log_transition": (log_transition, (num_states, num_states)),
        "log_duration": (log_duration, (num_states, longest)),
    }
    parameters = [ragged.with_owner(name, *given, num_sequences) for name, given in shapes.items()]
    initial, transition, duration = ragged.same_owners(parameters)
    return bounds, (initial, transition, duration)


def _arrays(log_initial: Tensor, log_transition: Tensor, log_duration: Tensor, log_emissions: Tensor) -> Logs:
    first, second, third = (ragged.as_array(tensor) for tensor in (log_initial, log_transition, log_duration))
    return first, second, third, ragged.as_array(log_emissions)


class _LogLikelihood(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        *tensors, offsets, censored = inputs
        made = HSMMPass(_arrays(*tensors), offsets, censored=censored)
        made.settle()
        ctx.made, ctx.kinds = made, ragged.kinds_of(tensors)
        return ragged.as_kind(made.log_likelihood.copy(), ctx.kinds[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.made.counts(ragged.as_array(gradient))
        return (*map(ragged.as_kind, found, ctx.kinds), None, None)


class _ExpectedCounts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, ...]:
        *tensors, offsets, censored = inputs
        made = HSMMPass(_arrays(*tensors), offsets, censored=censored)
        found = made.counts(np.ones(len(offsets) - 1))
        ctx.made, ctx.kinds = made, ragged.kinds_of(tensors)
        return (ragged.as_kind(made.log_likelihood.copy(), ctx.kinds[-1]), *map(ragged.as_kind, found, ctx.kinds))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, likelihood: Tensor, *counts: Tensor) -> tuple[Tensor | None, ...]:
        gradients = ragged.counts_gradient(HSMMPass, ctx.made, likelihood, counts)
        return (*map(ragged.as_kind, gradients, ctx.kinds), None, None)
