"""Compiled recursions of the explicit-duration hidden semi-Markov model, scaled like those of `hmm_kernels.py`.

With b_t(k) the probability that a segment of k begins at t and e_t(k) that one ends there (both with all
observations up to there), e_t(k) = Σ_d b_t-d+1(k) P(d | k) Π E and b_t+1 = e_t A: T·K·(K + D) operations instead
of T·K²·D (Mitchell et al. 1995, Yu and Kobayashi 2003). The products of emissions are never formed anew: every
segment that is under way is kept divided by one common factor per state, and the factor is what each step multiplies.
"""

from __future__ import annotations

import numba
import numpy as np

from gossamer.models.markov.hmm_kernels import FAST, SMALLEST_TRUSTED, owner_of

# The common factor of a state stays within these bounds; beyond, it is multiplied into the segments under way.
SMALL_FACTOR, LARGE_FACTOR = 1e-100, 1e100


@numba.njit(cache=True, nogil=True, parallel=True)
def hsmm_forward(
    initial: np.ndarray,
    transition: np.ndarray,
    duration: np.ndarray,
    survival: np.ndarray,
    is_censored: bool,
    emissions: np.ndarray,
    peaks: np.ndarray,
    offsets: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    ages: np.ndarray,
    log_likelihood: np.ndarray,
    moved: np.ndarray,
    suspect: np.ndarray,
) -> None:
    """Fill scaled b_t and e_t (N, K) and the log-likelihood (B); divide `emissions` by P(x_t | x_1..t-1).

    `duration` and `survival` (P, K, D) are P(d) and P(≥ d), in REVERSED order of d. The last segment goes on beyond the
    end if `is_censored`, else it ends there. If `ages` (B, K, D) has rows, they become P(z_T = k, its age is d | x).
    `moved` (B) is the likelihood over that of the real parts: 1 + iε times the derivative for complex steps.
    """
    for sequence in numba.prange(len(offsets) - 1):
        owner = owner_of(sequence, len(initial))
        begin, end = offsets[sequence], offsets[sequence + 1]
        segments = np.empty((emissions.shape[1], end - begin), dtype=emissions.dtype)
        factor = np.ones(emissions.shape[1], dtype=emissions.dtype)
        log_likelihood[sequence], moved[sequence], is_suspect = _forward_of_one(
            initial[owner],
            transition[owner],
            duration[owner],
            survival[owner],
            is_censored,
            emissions[begin:end],
            peaks[begin:end],
            begins[begin:end],
            ends[begin:end],
            segments,
            factor,
        )
        suspect[sequence] |= is_suspect
        if len(ages) > 0:
            _fill_ages(segments, factor, survival[owner], ages[sequence])


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _forward_of_one(
    initial: np.ndarray,
    transition: np.ndarray,
    duration: np.ndarray,
    survival: np.ndarray,
    is_censored: bool,
    emissions: np.ndarray,
    peaks: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    segments: np.ndarray,
    factor: np.ndarray,
) -> tuple[float, complex | float, bool]:
    length, num_states = emissions.shape
    longest = duration.shape[1]
    total, is_suspect = 0.0, False
    moved = factor[0]
    for step in range(length):
        first = max(0, step - longest + 1)
        oldest = longest - (step + 1 - first)  # where the reversed tables have the age of the oldest segment
        whole = factor[0] * 0
        for state in range(num_states):
            if step == 0:
                begins[0, state] = initial[state]
            segments[state, step] = begins[step, state] / factor[state]
            factor[state] *= emissions[step, state]
            under_way, ended = factor[state] * 0, factor[state] * 0
            for place in range(step + 1 - first):
                under_way += survival[state, oldest + place] * segments[state, first + place]
                ended += duration[state, oldest + place] * segments[state, first + place]
            ends[step, state] = ended * factor[state]
            must_end = step == length - 1 and not is_censored
            whole += ends[step, state] if must_end else under_way * factor[state]
        scale = whole.real
        if not scale > 0.0:
            return -np.inf, moved, True
        moved = whole / scale
        total += np.log(scale) + peaks[step]
        for state in range(num_states):
            emissions[step, state] /= scale
            ends[step, state] /= scale
            factor[state] /= scale
            if not SMALL_FACTOR < factor[state].real < LARGE_FACTOR:
                is_suspect |= _multiply_in(segments[state, first : step + 1], factor[state])
                factor[state] = 1.0
        if step < length - 1:
            begins[step + 1] = 0
            for source in range(num_states):
                for target in range(num_states):
                    begins[step + 1, target] += ends[step, source] * transition[source, target]
    return total, moved, is_suspect


@numba.njit(cache=True, nogil=True)
def _multiply_in(segments: np.ndarray, factor: complex | float) -> bool:
    """Multiply segments, and say whether one came near underflow by it."""
    is_small = False
    for place in range(len(segments)):
        was_positive = segments[place].real > 0.0
        segments[place] *= factor
        is_small |= was_positive and segments[place].real < SMALLEST_TRUSTED
    return is_small


@numba.njit(cache=True, nogil=True)
def _fill_ages(segments: np.ndarray, factor: np.ndarray, survival: np.ndarray, ages: np.ndarray) -> None:
    """Fill P(z_T = k, its age is d | x) from the segments that are under way at the end."""
    num_states, length = segments.shape
    longest = ages.shape[1]
    for state in range(num_states):
        for age in range(1, min(length, longest) + 1):
            mass = segments[state, length - age] * factor[state] * survival[state, longest - age]
            ages[state, age - 1] = mass.real


@numba.njit(cache=True, nogil=True, parallel=True)
def hsmm_backward(
    initial: np.ndarray,
    transition: np.ndarray,
    duration: np.ndarray,
    survival: np.ndarray,
    is_censored: bool,
    emissions: np.ndarray,
    offsets: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    weights: np.ndarray,
    chunks: np.ndarray,
    states: np.ndarray,
    initial_counts: np.ndarray,
    transition_counts: np.ndarray,
    duration_counts: np.ndarray,
    survival_counts: np.ndarray,
    agreement: np.ndarray,
) -> None:
    """Add the weighted expected counts, and fill `states` (N, K), the weighted posterior; see `hmm_backward`.

    `duration` and `survival` are in their natural order here; `ends` is overwritten. Counts of transitions, durations
    and survivals still lack the factor A, P(d) or P(≥ d).
    """
    for chunk in numba.prange(len(chunks) - 1):
        for sequence in range(chunks[chunk], chunks[chunk + 1]):
            owner = owner_of(sequence, len(initial))
            begin, end = offsets[sequence], offsets[sequence + 1]
            agreement[sequence] = 1
            if weights[sequence] == 0 or begin == end:
                states[begin:end] = 0
                continue
            _backward_of_one(
                transition[owner],
                duration[owner],
                survival[owner],
                is_censored,
                emissions[begin:end],
                begins[begin:end],
                ends[begin:end],
                weights[sequence],
                states[begin:end],
                transition_counts[chunk],
                duration_counts[chunk],
                survival_counts[chunk],
            )
            initial_counts[chunk] += states[begin]
            agreement[sequence] = states[begin].sum() / weights[sequence]
            _sum_up(states[begin:end], ends[begin:end], weights[sequence].real)


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _backward_of_one(
    transition: np.ndarray,
    duration: np.ndarray,
    survival: np.ndarray,
    is_censored: bool,
    emissions: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    weight: complex | float,
    states: np.ndarray,
    transition_counts: np.ndarray,
    duration_counts: np.ndarray,
    survival_counts: np.ndarray,
) -> None:
    length, num_states = emissions.shape
    longest = duration.shape[1]
    segments = np.empty((num_states, length), dtype=emissions.dtype)
    factor, after_begin = np.ones_like(emissions[0]), np.empty_like(emissions[0])
    tail, after_end = np.full_like(emissions[0], weight), np.full_like(emissions[0], weight * (1 - is_censored))
    for step in range(length - 1, -1, -1):
        last = min(length, step + longest)
        for state in range(num_states):
            segments[state, step] = after_end[state] / factor[state]
            factor[state] *= emissions[step, state]
            tail[state] *= emissions[step, state]
            begun = begins[step, state] * factor[state]
            finished = factor[state] * 0
            for age in range(last - step):
                finished += duration[state, age] * segments[state, step + age]
            for age in range(last - step):  # by itself: see `FAST`
                duration_counts[state, age] += begun * segments[state, step + age]
            after_begin[state] = finished * factor[state]
            if is_censored and length - step <= longest:
                after_begin[state] += survival[state, length - step - 1] * tail[state]
                survival_counts[state, length - step - 1] += begins[step, state] * tail[state]
            # What begins here; `_sum_up` takes away what ended before and has the posterior of the state.
            states[step, state] = begins[step, state] * after_begin[state]
            if not SMALL_FACTOR < factor[state].real < LARGE_FACTOR:
                segments[state, step:last] *= factor[state]
                factor[state] = 1.0
        for source in range(num_states if step > 0 else 0):
            arrived = factor[0] * 0
            for target in range(num_states):
                arrived += transition[source, target] * after_begin[target]
            for target in range(num_states):
                transition_counts[source, target] += ends[step - 1, source] * after_begin[target]
            after_end[source] = arrived
            ends[step - 1, source] *= arrived


@numba.njit(cache=True, nogil=True)
def _sum_up(states: np.ndarray, ends: np.ndarray, weight: float) -> None:
    """Turn beginnings (and the ends) of segments into the posterior of being inside one, in place."""
    for step in range(1, states.shape[0]):
        for state in range(states.shape[1]):
            states[step, state] += states[step - 1, state] - ends[step - 1, state]
            if states[step, state].real * weight < 0.0:  # rounding: a posterior has the sign of its weight
                states[step, state] = 0.0
