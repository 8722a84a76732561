"""The hidden Markov model as pure functions of logs, batched over ragged sequences and differentiable.

Everywhere: `log_initial` (K) and `log_transition` (K, K) are shared by all sequences, or (B, K) and (B, K, K), one set
per sequence; `log_emissions` (N, K) are the log densities of all sequences' steps, one below the other; sequence i is
rows `offsets[i]` … `offsets[i + 1]`. -inf is a legal log everywhere, and parameters need not be normalised.

A sequence that is impossible has log-likelihood -inf, posterior 0 and gradient 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.autograd.function import once_differentiable

from gossamer.models.markov import ragged
from gossamer.models.markov.hmm_kernels import hmm_backward, hmm_forward
from gossamer.models.markov.hmm_log_kernels import (
    hmm_log_backward,
    hmm_log_counts,
    hmm_log_forward,
    hmm_viterbi,
    log_sum,
)

Offsets = np.ndarray | Tensor
Logs = tuple[np.ndarray, np.ndarray, np.ndarray]  # of initial, transition and emission


class HMMCounts(NamedTuple):
    """Expected counts given the observations: the gradient of the log-likelihood by the logs of the parameters.

    `initial` and `transition` have the shapes of the parameters: summed over sequences where those are shared.
    `states` (N, K) is the posterior of every step.
    """

    log_likelihood: Float[Tensor, " B"]
    initial: Float[Tensor, "*owner K"]
    transition: Float[Tensor, "*owner K K"]
    states: Float[Tensor, "N K"]


def hmm_log_likelihood(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
) -> Float[Tensor, " B"]:
    """Return log p(x) of every sequence; its gradient is made of the expected counts.

    >>> half = torch.full((2, 2), 0.5, dtype=torch.double).log()
    >>> densities = torch.tensor([[1.0, 3.0], [2.0, 2.0], [4.0, 4.0]], dtype=torch.double).log()
    >>> hmm_log_likelihood(half[0], half, densities, np.array([0, 1, 3])).exp()
    tensor([2.0000, 8.0000], dtype=torch.float64)
    """
    bounds, parameters = _checked(log_initial, log_transition, log_emissions, offsets)
    return _LogLikelihood.apply(*parameters, log_emissions, bounds)  # type: ignore[no-any-return, no-untyped-call]


def hmm_expected_counts(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
) -> HMMCounts:
    """Return the E-step (the sums of equations 4.7 to 4.9), differentiable: the counts are first derivatives of the
    log-likelihood, so their Jacobian is symmetric, and a backward pass is one derivative along the incoming gradient.
    """
    bounds, parameters = _checked(log_initial, log_transition, log_emissions, offsets)
    found = _ExpectedCounts.apply(*parameters, log_emissions, bounds)  # type: ignore[no-untyped-call]
    likelihood, initial, transition, states = found
    return HMMCounts(
        likelihood, ragged.shaped_as(initial, log_initial), ragged.shaped_as(transition, log_transition), states
    )


def hmm_posterior(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
) -> Float[Tensor, "N K"]:
    """Return P(z_t | x) of every step, differentiable."""
    return hmm_expected_counts(log_initial, log_transition, log_emissions, offsets).states


def hmm_log_forward_values(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
) -> Float[Tensor, "N K"]:
    """Return log α_t(k) = log P(x_1..t, z_t = k) (equations 4.2 and 4.3), without a graph."""
    bounds, parameters = _checked(log_initial, log_transition, log_emissions, offsets)
    logs = _arrays(*parameters, log_emissions)
    values = np.empty_like(logs[-1])
    hmm_log_forward(*logs, bounds, np.arange(len(bounds) - 1), values)
    return torch.from_numpy(values).to(log_emissions)


def hmm_log_backward_values(
    log_transition: Float[Tensor, "*owner K K"], log_emissions: Float[Tensor, "N K"], offsets: Offsets
) -> Float[Tensor, "N K"]:
    """Return log β_t(k) = log P(x_t+1..T | z_t = k) (equations 4.5 and 4.6), without a graph."""
    no_initial = log_transition[..., 0]  # of the right shape; the values play no part
    bounds, (_, transition) = _checked(no_initial, log_transition, log_emissions, offsets)
    emissions = ragged.as_array(log_emissions)
    values = np.empty_like(emissions)
    hmm_log_backward(ragged.as_array(transition), emissions, bounds, np.arange(len(bounds) - 1), values)
    return torch.from_numpy(values).to(log_emissions)


def hmm_pairwise_posterior(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
) -> Float[Tensor, "N K K"]:
    """Return P(z_t = i, z_t+1 = j | x) in row t, zero in the last row of a sequence; without a graph."""
    bounds, (_, transition) = _checked(log_initial, log_transition, log_emissions, offsets)
    forward = hmm_log_forward_values(log_initial, log_transition, log_emissions, offsets)
    backward = hmm_log_backward_values(log_transition, log_emissions, offsets)
    series = ragged.sequence_numbers(bounds)
    pairs = log_emissions.new_zeros(*log_emissions.shape, log_emissions.shape[1])
    goes_on = torch.nonzero(series[1:] == series[:-1])[:, 0]
    owners = series[goes_on] if len(transition) > 1 else torch.zeros_like(goes_on)
    left = (log_emissions.detach() + backward)[goes_on + 1]
    logs = forward[goes_on, :, None] + transition.detach()[owners] + left[:, None, :]
    totals = logs.flatten(1).logsumexp(1)[:, None, None]
    pairs[goes_on] = torch.where(totals > -torch.inf, torch.exp(logs - totals.clamp_min(-1e300)), 0.0).to(pairs)
    return pairs


def hmm_best_path(
    log_initial: Float[Tensor, "*owner K"],
    log_transition: Float[Tensor, "*owner K K"],
    log_emissions: Float[Tensor, "N K"],
    offsets: Offsets,
) -> tuple[Int64[Tensor, " N"], Float[Tensor, " B"]]:
    """Return the most probable states (Viterbi) and the log of their joint probability with the observations."""
    bounds, parameters = _checked(log_initial, log_transition, log_emissions, offsets)
    path, log_probs = np.zeros(len(log_emissions), dtype=np.int64), np.empty(len(bounds) - 1)
    hmm_viterbi(*_arrays(*parameters, log_emissions), bounds, path, log_probs)
    return torch.from_numpy(path), torch.from_numpy(log_probs).to(log_emissions)


def _checked(
    log_initial: Tensor, log_transition: Tensor, log_emissions: Tensor, offsets: Offsets
) -> tuple[np.ndarray, tuple[Tensor, Tensor]]:
    bounds = ragged.check_sequences(log_emissions, offsets)
    num_sequences, num_states = len(bounds) - 1, log_emissions.shape[1]
    initial = ragged.with_owner("log_initial", log_initial, (num_states,), num_sequences)
    transition = ragged.with_owner("log_transition", log_transition, (num_states, num_states), num_sequences)
    initial, transition = ragged.same_owners([initial, transition])
    return bounds, (initial, transition)


def _arrays(log_initial: Tensor, log_transition: Tensor, log_emissions: Tensor) -> Logs:
    return ragged.as_array(log_initial), ragged.as_array(log_transition), ragged.as_array(log_emissions)


class _Pass:
    """A forward pass that was made, and the backward passes that can follow it.

    `logs` are the parameters and emissions as arrays; with `directions` and `size` they move along complex steps.
    """

    options: tuple[()] = ()

    def __init__(
        self, logs: Logs, offsets: np.ndarray, directions: list[np.ndarray] | None = None, size: float = 0.0
    ) -> None:
        self.logs, self.offsets, self.directions, self.size = logs, offsets, directions, size
        emissions, peaks, self.suspect = ragged.relative_emissions(logs[-1], offsets)
        values = [np.exp(log) for log in logs[:-1]] + [emissions]
        if ragged.has_tiny(*values[:-1]):
            self.suspect[:] = True
        if directions is not None:
            values = [value * ragged.step_factors(v, size) for value, v in zip(values, directions, strict=True)]
        self.initial, self.transition, self.emissions = values
        self.forward = np.empty_like(self.emissions)
        self.log_likelihood, self.moved = np.empty(len(offsets) - 1), np.empty(len(offsets) - 1, self.emissions.dtype)
        tables = (self.initial, self.transition, self.emissions)
        hmm_forward(*tables, peaks, offsets, self.forward, self.log_likelihood, self.moved, self.suspect)
        self.lost = self.log_likelihood == -np.inf  # to be done in log space

    def settle(self) -> None:
        """Find the sequences of which the scaling lost something, and their likelihoods in log space."""
        if (self.suspect & ~self.lost).any():
            self._scaled_counts((self.suspect & ~self.lost).astype(np.float64))
        chosen = np.flatnonzero(self.lost & (np.diff(self.offsets) > 0))
        if len(chosen):
            forward = np.empty_like(self.logs[-1])
            hmm_log_forward(*self.logs, self.offsets, chosen, forward)
            for sequence in chosen:
                self.log_likelihood[sequence] = log_sum(forward[self.offsets[sequence + 1] - 1])

    def counts(self, weights: np.ndarray) -> list[np.ndarray]:
        """Return the weighted expected counts of initial states and transitions, and the posterior of states."""
        found = self._scaled_counts(np.where(self.lost, 0.0, weights))
        if self.lost.any():
            found = self._scaled_counts(np.where(self.lost, 0.0, weights))  # some may have been found out just now
            chosen = np.flatnonzero(self.lost & (np.diff(self.offsets) > 0))
            self._add_log_counts(chosen, weights, found)
        return found

    def _scaled_counts(self, weights: np.ndarray) -> list[np.ndarray]:
        num_owners, num_states = len(self.initial), self.emissions.shape[1]
        chunks = ragged.chunk_bounds(len(self.offsets) - 1, num_owners)
        kind = self.emissions.dtype
        initial, transition = (np.zeros((len(chunks) - 1, *([num_states] * ndim)), kind) for ndim in (1, 2))
        states, agreement = np.empty_like(self.emissions), np.empty(len(weights), kind)
        arguments = (self.initial, self.transition, self.emissions, self.offsets, self.forward)
        hmm_backward(*arguments, weights / self.moved, chunks, states, initial, transition, agreement)
        self.lost |= ~(np.abs(agreement.real - 1) < ragged.DISAGREEMENT)
        transition = ragged.owner_sums(transition, num_owners) * self.transition
        return [ragged.owner_sums(initial, num_owners), transition, states]

    def _add_log_counts(self, chosen: np.ndarray, weights: np.ndarray, found: list[np.ndarray]) -> None:
        logs = self.logs
        if self.directions is not None:
            initial, transition, emissions = ragged.moved_logs(logs, self.directions, self.size)
            logs = (initial, transition, emissions)
        forward, backward = np.empty_like(logs[-1]), np.empty_like(logs[-1])
        hmm_log_forward(*logs, self.offsets, chosen, forward)
        likelihood = np.array([log_sum(forward[self.offsets[sequence + 1] - 1]).real for sequence in chosen])
        self.log_likelihood[chosen] = likelihood
        possible = chosen[likelihood > -np.inf]
        hmm_log_backward(*logs[1:], self.offsets, possible, backward)
        counts, pairs, states = found
        hmm_log_counts(*logs[1:], self.offsets, possible, weights, forward, backward, states, counts, pairs)


class _LogLikelihood(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        *tensors, offsets = inputs
        made = _Pass(_arrays(*tensors), offsets)
        made.settle()
        ctx.made, ctx.kinds = made, ragged.kinds_of(tensors)
        return ragged.as_kind(made.log_likelihood.copy(), ctx.kinds[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.made.counts(ragged.as_array(gradient))
        return (*map(ragged.as_kind, found, ctx.kinds), None)


class _ExpectedCounts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, ...]:
        *tensors, offsets = inputs
        made = _Pass(_arrays(*tensors), offsets)
        found = made.counts(np.ones(len(offsets) - 1))
        ctx.made, ctx.kinds = made, ragged.kinds_of(tensors)
        return (ragged.as_kind(made.log_likelihood.copy(), ctx.kinds[-1]), *map(ragged.as_kind, found, ctx.kinds))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, likelihood: Tensor, *counts: Tensor) -> tuple[Tensor | None, ...]:
        gradients = ragged.counts_gradient(_Pass, ctx.made, likelihood, counts)
        return (*map(ragged.as_kind, gradients, ctx.kinds), None)
