"""Compiled recursions of the hidden semi-Markov model in log space, and Viterbi; see `hmm_log_kernels.py`.

A segment's emissions are summed while its duration grows, so an impossible emission ends the loop and no difference of
infinities is ever formed.
"""

from __future__ import annotations

import numba
import numpy as np

from gossamer.models.markov.hmm_kernels import owner_of
from gossamer.models.markov.hmm_log_kernels import log_sum


@numba.njit(cache=True, nogil=True)
def hsmm_log_forward(
    log_initial: np.ndarray,
    log_transition: np.ndarray,
    log_duration: np.ndarray,
    log_end: np.ndarray,
    log_emissions: np.ndarray,
    offsets: np.ndarray,
    chosen: np.ndarray,
    log_begins: np.ndarray,
    log_ends: np.ndarray,
    log_likelihood: np.ndarray,
) -> None:
    """Fill log P(x_1..t-1, a segment of k begins at t), log P(x_1..t, one ends at t) and the log-likelihood.

    `log_end` (P, K, D) takes the place of `log_duration` at the end of a sequence: log P(≥ d) if it is cut off there.
    """
    num_states, longest = log_emissions.shape[1], log_duration.shape[2]
    for sequence in chosen:
        owner = owner_of(sequence, len(log_initial))
        begin, end = offsets[sequence], offsets[sequence + 1]
        terms = np.empty(longest, dtype=log_emissions.dtype)
        finals = np.empty(num_states, dtype=log_emissions.dtype)
        for step in range(begin, end):
            for state in range(num_states):
                if step == begin:
                    log_begins[step, state] = log_initial[owner, state]
                else:
                    log_begins[step, state] = log_sum(log_ends[step - 1] + log_transition[owner, :, state])
            for state in range(num_states):
                terms[:] = -np.inf
                inside = log_emissions[step, state] * 0 if log_emissions[step, state].real > -np.inf else terms[0]
                table = log_end[owner, state] if step == end - 1 else log_duration[owner, state]
                for age in range(min(longest, step - begin + 1)):
                    inside = inside + log_emissions[step - age, state]
                    if inside.real == -np.inf:
                        break
                    terms[age] = log_begins[step - age, state] + table[age] + inside
                finals[state] = log_sum(terms)
                log_ends[step, state] = finals[state]
        log_likelihood[sequence] = log_sum(finals)


@numba.njit(cache=True, nogil=True)
def hsmm_log_backward(
    log_transition: np.ndarray,
    log_duration: np.ndarray,
    log_end: np.ndarray,
    log_emissions: np.ndarray,
    offsets: np.ndarray,
    chosen: np.ndarray,
    after_begin: np.ndarray,
    after_end: np.ndarray,
) -> None:
    """Fill log P(x_t..T | a segment of k begins at t) and log P(x_t+1..T | one ends at t); 0 at the end."""
    num_states, longest = log_emissions.shape[1], log_duration.shape[2]
    for sequence in chosen:
        owner = owner_of(sequence, len(log_transition))
        begin, end = offsets[sequence], offsets[sequence + 1]
        terms = np.empty(longest, dtype=log_emissions.dtype)
        for step in range(end - 1, begin - 1, -1):
            for state in range(num_states):
                if step == end - 1:
                    after_end[step, state] = 0
                else:
                    after_end[step, state] = log_sum(log_transition[owner, state] + after_begin[step + 1])
            for state in range(num_states):
                terms[:] = -np.inf
                inside = log_emissions[step, state] * 0 if log_emissions[step, state].real > -np.inf else terms[0]
                for age in range(min(longest, end - step)):
                    inside = inside + log_emissions[step + age, state]
                    if inside.real == -np.inf:
                        break
                    is_last = step + age == end - 1
                    lasted = log_end[owner, state, age] if is_last else log_duration[owner, state, age]
                    terms[age] = lasted + inside + after_end[step + age, state]
                after_begin[step, state] = log_sum(terms)


@numba.njit(cache=True, nogil=True)
def hsmm_log_counts(
    log_transition: np.ndarray,
    log_duration: np.ndarray,
    log_end: np.ndarray,
    log_emissions: np.ndarray,
    offsets: np.ndarray,
    chosen: np.ndarray,
    weights: np.ndarray,
    log_likelihood: np.ndarray,
    log_begins: np.ndarray,
    log_ends: np.ndarray,
    after_begin: np.ndarray,
    after_end: np.ndarray,
    states: np.ndarray,
    initial_counts: np.ndarray,
    transition_counts: np.ndarray,
    duration_counts: np.ndarray,
    end_counts: np.ndarray,
) -> None:
    """Add the weighted expected counts of the chosen, possible sequences to those of their owners; fill `states`."""
    num_states, longest = log_emissions.shape[1], log_duration.shape[2]
    for sequence in chosen:
        owner = owner_of(sequence, len(log_transition))
        begin, end, weight = offsets[sequence], offsets[sequence + 1], weights[sequence]
        total = log_likelihood[sequence]
        states[begin:end] = 0
        initial_counts[owner] += weight * np.exp(log_begins[begin] + after_begin[begin] - total)
        for step in range(begin, end):
            for state in range(num_states):
                for target in range(num_states if step < end - 1 else 0):
                    moved = log_ends[step, state] + log_transition[owner, state, target] + after_begin[step + 1, target]
                    transition_counts[owner, state, target] += weight * np.exp(moved - total)
                if log_emissions[step, state].real == -np.inf:
                    continue
                inside = log_emissions[step, state] * 0
                for age in range(min(longest, end - step)):
                    inside = inside + log_emissions[step + age, state]
                    if inside.real == -np.inf:
                        break
                    is_last = step + age == end - 1
                    lasted = log_end[owner, state, age] if is_last else log_duration[owner, state, age]
                    whole = log_begins[step, state] + lasted + inside + after_end[step + age, state]
                    mass = weight * np.exp(whole - total)
                    states[step : step + age + 1, state] += mass
                    if is_last:
                        end_counts[owner, state, age] += mass
                    else:
                        duration_counts[owner, state, age] += mass


@numba.njit(cache=True, nogil=True, parallel=True)
def hsmm_viterbi(
    log_initial: np.ndarray,
    log_transition: np.ndarray,
    log_duration: np.ndarray,
    log_end: np.ndarray,
    log_emissions: np.ndarray,
    offsets: np.ndarray,
    path: np.ndarray,
    log_probs: np.ndarray,
) -> None:
    """Fill the states (N) of the best segmentation and its log probability (B).

    Of equals the shorter segment and the smaller state win.
    """
    num_states, longest = log_emissions.shape[1], log_duration.shape[2]
    for sequence in numba.prange(len(offsets) - 1):
        owner = owner_of(sequence, len(log_initial))
        begin, length = offsets[sequence], offsets[sequence + 1] - offsets[sequence]
        log_probs[sequence] = 0.0
        if length == 0:
            continue
        begins = np.full((length + 1, num_states), -np.inf)
        begins[0] = log_initial[owner]
        came_from = np.zeros((length + 1, num_states), dtype=np.int32)
        lasted = np.ones((length, num_states), dtype=np.int32)
        ends = np.empty(num_states)
        for step in range(length):
            for state in range(num_states):
                ends[state], inside = -np.inf, 0.0
                table = log_end[owner, state] if step == length - 1 else log_duration[owner, state]
                for age in range(min(longest, step + 1)):
                    inside += log_emissions[begin + step - age, state]
                    if inside == -np.inf:
                        break
                    value = begins[step - age, state] + table[age] + inside
                    if value > ends[state]:
                        ends[state], lasted[step, state] = value, age + 1
            for target in range(num_states):
                winner = 0
                for source in range(1, num_states):
                    moved = ends[source] + log_transition[owner, source, target]
                    if moved > ends[winner] + log_transition[owner, winner, target]:
                        winner = source
                came_from[step + 1, target] = winner
                begins[step + 1, target] = ends[winner] + log_transition[owner, winner, target]
        now = np.argmax(ends)
        log_probs[sequence] = ends[now]
        left = length
        while left > 0:
            duration = lasted[left - 1, now]
            path[begin + left - duration : begin + left] = now
            left -= duration
            now = came_from[left, now]
