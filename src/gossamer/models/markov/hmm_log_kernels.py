"""Compiled recursions of the hidden Markov model in log space: slower than the scaled ones, and never wrong.

They serve three purposes: the public log-forward and log-backward values, the sequences whose probabilities span more
than a double can hold, and Viterbi. Numbers may be complex (see `hmm_kernels.py`); comparisons look at the real part.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gossamer.models.markov.hmm_kernels import owner_of


@numba.njit(cache=True, nogil=True)
def log_sum(terms: np.ndarray) -> Any:
    """Return log Σ exp(terms), -inf where all of them are: never a difference of infinities."""
    peak = -np.inf
    for term in terms:
        peak = max(peak, term.real)
    if peak == -np.inf:
        return terms[0]
    total = np.exp(terms[0] - peak)
    for place in range(1, len(terms)):
        total += np.exp(terms[place] - peak)
    return np.log(total) + peak


@numba.njit(cache=True, nogil=True)
def hmm_log_forward(
    log_initial: np.ndarray,
    log_transition: np.ndarray,
    log_emissions: np.ndarray,
    offsets: np.ndarray,
    chosen: np.ndarray,
    log_forward: np.ndarray,
) -> None:
    """Fill log P(x_1..t, z_t) of the chosen sequences (equations 4.2 and 4.3)."""
    for sequence in chosen:
        owner = owner_of(sequence, len(log_initial))
        for step in range(offsets[sequence], offsets[sequence + 1]):
            for state in range(log_emissions.shape[1]):
                if step == offsets[sequence]:
                    arrived = log_initial[owner, state]
                else:
                    arrived = log_sum(log_forward[step - 1] + log_transition[owner, :, state])
                log_forward[step, state] = arrived + log_emissions[step, state]


@numba.njit(cache=True, nogil=True)
def hmm_log_backward(
    log_transition: np.ndarray,
    log_emissions: np.ndarray,
    offsets: np.ndarray,
    chosen: np.ndarray,
    log_backward: np.ndarray,
) -> None:
    """Fill log P(x_t+1..T | z_t) of the chosen sequences (equations 4.5 and 4.6)."""
    for sequence in chosen:
        owner = owner_of(sequence, len(log_transition))
        last = offsets[sequence + 1] - 1
        for step in range(last, offsets[sequence] - 1, -1):
            for state in range(log_emissions.shape[1]):
                if step == last:
                    log_backward[step, state] = 0
                else:
                    after = log_emissions[step + 1] + log_backward[step + 1]
                    log_backward[step, state] = log_sum(log_transition[owner, state] + after)


@numba.njit(cache=True, nogil=True)
def hmm_log_counts(
    log_transition: np.ndarray,
    log_emissions: np.ndarray,
    offsets: np.ndarray,
    chosen: np.ndarray,
    weights: np.ndarray,
    log_forward: np.ndarray,
    log_backward: np.ndarray,
    states: np.ndarray,
    initial_counts: np.ndarray,
    transition_counts: np.ndarray,
) -> None:
    """Add the weighted expected counts of the chosen, possible sequences to those of their owners; fill `states`."""
    num_states = log_emissions.shape[1]
    for sequence in chosen:
        owner = owner_of(sequence, len(log_transition))
        begin, end, weight = offsets[sequence], offsets[sequence + 1], weights[sequence]
        total = log_sum(log_forward[end - 1])
        for step in range(begin, end):
            states[step] = weight * np.exp(log_forward[step] + log_backward[step] - total)
            for source in range(num_states if step > begin else 0):
                for target in range(num_states):
                    arrived = log_forward[step - 1, source] + log_transition[owner, source, target]
                    left = log_emissions[step, target] + log_backward[step, target]
                    transition_counts[owner, source, target] += weight * np.exp(arrived + left - total)
        initial_counts[owner] += states[begin]


@numba.njit(cache=True, nogil=True, parallel=True)
def hmm_viterbi(
    log_initial: np.ndarray,
    log_transition: np.ndarray,
    log_emissions: np.ndarray,
    offsets: np.ndarray,
    path: np.ndarray,
    log_probs: np.ndarray,
) -> None:
    """Fill the best path (N) of every sequence and its log probability (B); of equals the smaller state wins."""
    num_states = log_emissions.shape[1]
    for sequence in numba.prange(len(offsets) - 1):
        owner = owner_of(sequence, len(log_initial))
        begin, end = offsets[sequence], offsets[sequence + 1]
        log_probs[sequence] = 0.0
        if begin == end:
            continue
        came_from = np.zeros((end - begin, num_states), dtype=np.int32)
        best = log_initial[owner] + log_emissions[begin]
        after = np.empty(num_states)
        for step in range(begin + 1, end):
            for target in range(num_states):
                winner = 0
                for source in range(1, num_states):
                    if (
                        best[source] + log_transition[owner, source, target]
                        > best[winner] + log_transition[owner, winner, target]
                    ):
                        winner = source
                came_from[step - begin, target] = winner
                after[target] = best[winner] + log_transition[owner, winner, target] + log_emissions[step, target]
            best[:] = after
        state = np.argmax(best)
        log_probs[sequence] = best[state]
        for step in range(end - 1, begin - 1, -1):
            path[step] = state
            state = came_from[step - begin, state]
