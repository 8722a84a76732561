"""Compiled recursions of the hidden Markov model, scaled at every step so that nothing underflows that matters.

All quantities are probabilities: emissions relative to the step's largest, forward values that sum to one. Products are
then never logs, and an inner loop has no `exp`. Whatever the scaling lost shows: the forward and the backward pass no
longer agree on the likelihood (see `ragged.py`), and the sequence is done again by `hmm_log_kernels.py`.

Nothing here asks whether numbers are real, so complex inputs θ·(1 + iεv) give exact derivatives along v.
Parameters have a leading axis of owners: of length 1 where all sequences share them, else one per sequence.
"""

from __future__ import annotations

import numba
import numpy as np

# Sums may be reordered and fused; infinities, NaN and zeros keep their meaning. No loop that sums also writes to an
# array: the compiler would then keep two versions of it and ask at run time whether the arrays may overlap, with bounds
# so wide that neighbours in memory may seem to. Which sum is taken, and so its last bit, would depend on the heap.
FAST = {"reassoc", "contract", "nsz", "arcp"}
SMALLEST_TRUSTED = 1e-250  # below it, a forward value is close enough to underflow to ask the backward pass


@numba.njit(cache=True, nogil=True, inline="always")
def owner_of(sequence: int, num_owners: int) -> int:
    """Return whose parameters a sequence has."""
    return np.int64(sequence) if num_owners > 1 else np.int64(0)  # type: ignore[return-value]


@numba.njit(cache=True, nogil=True, parallel=True)
def hmm_forward(
    initial: np.ndarray,
    transition: np.ndarray,
    emissions: np.ndarray,
    peaks: np.ndarray,
    offsets: np.ndarray,
    forward: np.ndarray,
    log_likelihood: np.ndarray,
    moved: np.ndarray,
    suspect: np.ndarray,
) -> None:
    """Fill `forward` (N, K), P(z_t | x_1..t), and `log_likelihood` (B); divide `emissions` by P(x_t | x_1..t-1).

    `peaks` (N) are the logs that `emissions` were divided by before. `suspect` (B) becomes True where values came near
    underflow, and the likelihood of a sequence that seems impossible -inf. `moved` (B) is the likelihood over that of
    the real parts: 1 + iε times the derivative for complex steps.
    """
    for sequence in numba.prange(len(offsets) - 1):
        owner = owner_of(sequence, len(initial))
        begin, end = offsets[sequence], offsets[sequence + 1]
        log_likelihood[sequence], moved[sequence], is_suspect = _forward_of_one(
            initial[owner], transition[owner], emissions[begin:end], peaks[begin:end], forward[begin:end]
        )
        suspect[sequence] |= is_suspect


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _forward_of_one(
    initial: np.ndarray, transition: np.ndarray, emissions: np.ndarray, peaks: np.ndarray, forward: np.ndarray
) -> tuple[float, complex | float, bool]:
    length, num_states = emissions.shape
    total, is_suspect = 0.0, False
    moved = initial[0] * 0 + 1
    for step in range(length):
        row, emission = forward[step], emissions[step]
        if step == 0:
            row[:] = initial
        else:
            row[:] = 0
            for source in range(num_states):
                weight = forward[step - 1, source]
                for target in range(num_states):
                    row[target] += weight * transition[source, target]
        whole = initial[0] * 0
        for state in range(num_states):
            row[state] *= emission[state]
        for state in range(num_states):
            whole += row[state]
        scale = whole.real
        if not scale > 0.0:
            return -np.inf, moved, True
        moved = whole / scale
        total += np.log(scale) + peaks[step]
        inverse = 1.0 / scale
        is_small = False
        for state in range(num_states):
            row[state] *= inverse
            emission[state] *= inverse
            is_small |= (row[state].real < SMALLEST_TRUSTED) & (row[state].real > 0.0)
        is_suspect |= is_small
    return total, moved, is_suspect


@numba.njit(cache=True, nogil=True, parallel=True)
def hmm_backward(
    initial: np.ndarray,
    transition: np.ndarray,
    emissions: np.ndarray,
    offsets: np.ndarray,
    forward: np.ndarray,
    weights: np.ndarray,
    chunks: np.ndarray,
    states: np.ndarray,
    initial_counts: np.ndarray,
    transition_counts: np.ndarray,
    agreement: np.ndarray,
) -> None:
    """Add the expected counts of every sequence, times its weight, and fill `states` (N, K), the weighted posterior.

    `emissions` and `forward` are those that `hmm_forward` left. A sequence with weight 0 is skipped. Sequences
    `chunks[c]` … `chunks[c + 1]` add to row c of the counts, so that threads never share a row and sums do not depend
    on the number of threads. Transitions still lack the factor A. `agreement` (B) is backward over forward
    likelihood: 1, unless something was lost.
    """
    for chunk in numba.prange(len(chunks) - 1):
        for sequence in range(chunks[chunk], chunks[chunk + 1]):
            owner = owner_of(sequence, len(initial))
            begin, end = offsets[sequence], offsets[sequence + 1]
            agreement[sequence] = 1
            if weights[sequence] == 0 or begin == end:
                states[begin:end] = 0
                continue
            agreement[sequence] = _backward_of_one(
                initial[owner],
                transition[owner],
                emissions[begin:end],
                forward[begin:end],
                weights[sequence],
                states[begin:end],
                transition_counts[chunk],
            )
            initial_counts[chunk] += states[begin]


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _backward_of_one(
    initial: np.ndarray,
    transition: np.ndarray,
    emissions: np.ndarray,
    forward: np.ndarray,
    weight: complex | float,
    states: np.ndarray,
    pairs: np.ndarray,
) -> complex | float:
    length, num_states = emissions.shape
    backward, message = np.empty_like(initial), np.empty_like(initial)
    backward[:] = weight
    for step in range(length - 1, 0, -1):
        for state in range(num_states):
            states[step, state] = forward[step, state] * backward[state]
            message[state] = emissions[step, state] * backward[state]
        for source in range(num_states):
            before = forward[step - 1, source]
            arrived = message[0] * 0
            for target in range(num_states):
                arrived += transition[source, target] * message[target]
            for target in range(num_states):
                pairs[source, target] += before * message[target]
            backward[source] = arrived
    total = weight * 0
    for state in range(num_states):
        states[0, state] = initial[state] * emissions[0, state] * backward[state]
    for state in range(num_states):
        total += states[0, state]
    return total / weight
