"""One forward pass over hidden semi-Markov sequences and the backward passes that follow: scaled, or in log space."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from gossamer.models.markov import ragged
from gossamer.models.markov.hsmm_kernels import hsmm_backward, hsmm_forward
from gossamer.models.markov.hsmm_log_kernels import hsmm_log_backward, hsmm_log_counts, hsmm_log_forward

# Logs of initial, transition, duration and emission probabilities.
Logs = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def log_survival(log_duration: np.ndarray) -> np.ndarray:
    """Return log P(≥ d) from log P(d), along the last axis.

    >>> np.exp(log_survival(np.log([0.5, 0.25, 0.25]))).tolist()
    [1.0, 0.5, 0.25]
    """
    with np.errstate(divide="ignore"):  # a table may end in zeros
        survival: np.ndarray = np.log(_survival(np.exp(log_duration)))
    return survival


def _survival(duration: np.ndarray) -> np.ndarray:
    return np.cumsum(duration[..., ::-1], axis=-1)[..., ::-1]


class HSMMPass:
    """A forward pass that was made, and the backward passes that can follow it.

    `logs` are initial, transition, duration and emission logs as arrays with owners; with `directions` and `size` they
    move along complex steps. `lost` says which sequences are done in log space, because scaling lost something.
    """

    def __init__(
        self,
        logs: Logs,
        offsets: np.ndarray,
        directions: list[np.ndarray] | None = None,
        size: float = 0.0,
        censored: bool = True,
        wants_ages: bool = False,
    ) -> None:
        self.logs, self.offsets, self.directions, self.size, self.censored = logs, offsets, directions, size, censored
        self.options = (censored,)
        emissions, peaks, self.suspect = ragged.relative_emissions(logs[-1], offsets)
        values = [np.exp(log) for log in logs[:-1]] + [emissions]
        if ragged.has_tiny(*values[:2]):
            self.suspect[:] = True
        if directions is not None:
            values = [value * ragged.step_factors(v, size) for value, v in zip(values, directions, strict=True)]
        self.initial, self.transition, self.duration, self.emissions = values
        self.survival = np.ascontiguousarray(_survival(self.duration))
        self.begins, self.ends = np.zeros_like(self.emissions), np.zeros_like(self.emissions)
        self.log_likelihood, self.moved = np.empty(len(offsets) - 1), np.empty(len(offsets) - 1, self.emissions.dtype)
        num_states, longest = self.duration.shape[1:]
        self.ages: Float64[np.ndarray, "B K D"] = np.zeros((len(offsets) - 1 if wants_ages else 0, num_states, longest))
        hsmm_forward(
            self.initial,
            self.transition,
            np.ascontiguousarray(self.duration[..., ::-1]),
            np.ascontiguousarray(self.survival[..., ::-1]),
            censored,
            self.emissions,
            peaks,
            offsets,
            self.begins,
            self.ends,
            self.ages,
            self.log_likelihood,
            self.moved,
            self.suspect,
        )
        self.lost = self.log_likelihood == -np.inf

    def settle(self) -> None:
        """Find the sequences of which the scaling lost something, and their likelihoods (and ages) in log space."""
        if (self.suspect & ~self.lost).any():
            self._scaled_counts((self.suspect & ~self.lost).astype(np.float64))
        chosen = np.flatnonzero(self.lost & (np.diff(self.offsets) > 0))
        if len(chosen):
            begins, _, _ = self._log_forward(self.logs, chosen)
            for sequence in chosen.tolist() if len(self.ages) else []:
                self.ages[sequence] = self._log_ages(sequence, begins)

    def counts(self, weights: np.ndarray) -> list[np.ndarray]:
        """Return the weighted expected counts of starts, transitions and durations, and the posterior of states."""
        found = self._scaled_counts(np.where(self.lost, 0.0, weights))
        if self.lost.any():
            found = self._scaled_counts(np.where(self.lost, 0.0, weights))  # some may have been found out just now
            self._add_log_counts(np.flatnonzero(self.lost & (np.diff(self.offsets) > 0)), weights, found)
        return found

    def _scaled_counts(self, weights: np.ndarray) -> list[np.ndarray]:
        num_owners, num_states, longest = self.duration.shape
        chunks = ragged.chunk_bounds(len(self.offsets) - 1, num_owners)
        kind = self.emissions.dtype
        rows = len(chunks) - 1
        initial, transition = np.zeros((rows, num_states), kind), np.zeros((rows, num_states, num_states), kind)
        duration, survival = (np.zeros((rows, num_states, longest), kind) for _ in range(2))
        states, agreement = np.empty_like(self.emissions), np.empty(len(weights), kind)
        hsmm_backward(
            self.initial,
            self.transition,
            self.duration,
            self.survival,
            self.censored,
            self.emissions,
            self.offsets,
            self.begins,
            self.ends.copy(),
            weights / self.moved,
            chunks,
            states,
            initial,
            transition,
            duration,
            survival,
            agreement,
        )
        self.lost |= ~(np.abs(agreement.real - 1) < ragged.DISAGREEMENT)
        duration, survival = ragged.owner_sums(duration, num_owners), ragged.owner_sums(survival, num_owners)
        states[self.logs[-1] == -np.inf] = 0.0  # and not what rounding left
        transition = ragged.owner_sums(transition, num_owners) * self.transition
        return [ragged.owner_sums(initial, num_owners), transition, self._spread(duration, survival), states]

    def _spread(self, duration: np.ndarray, survival: np.ndarray) -> np.ndarray:
        """Return counts of durations: P(d) times what was seen to last d, and to last at least d' for any d' ≤ d."""
        counts: np.ndarray = self.duration * (duration + np.cumsum(survival, axis=-1))
        return counts

    def _add_log_counts(self, chosen: np.ndarray, weights: np.ndarray, found: list[np.ndarray]) -> None:
        logs = self.logs
        if self.directions is not None:
            first, second, third, fourth = ragged.moved_logs(logs, self.directions, self.size)
            logs = (first, second, third, fourth)
        begins, ends, likelihood = self._log_forward(logs, chosen)
        possible = chosen[self.log_likelihood[chosen] > -np.inf]
        after_begin, after_end = np.empty_like(logs[-1]), np.empty_like(logs[-1])
        tables = (logs[1], logs[2], self._log_end(logs), logs[3], self.offsets, possible)
        hsmm_log_backward(*tables, after_begin, after_end)
        initial, transition, duration, states = found
        durations, survivals = np.zeros_like(duration), np.zeros_like(duration)
        passes = (likelihood, begins, ends, after_begin, after_end)
        hsmm_log_counts(*tables, weights, *passes, states, initial, transition, durations, survivals)
        duration += durations + self._split_survivals(survivals)

    def _split_survivals(self, counts: np.ndarray) -> np.ndarray:
        """Return counts of durations from counts of segments cut off: P(d') / P(≥ d) of each for every d' ≥ d."""
        if not self.censored:
            return counts
        shares = np.divide(counts, self.survival, out=np.zeros_like(counts), where=self.survival != 0)
        split: np.ndarray = self.duration * np.cumsum(shares, axis=-1)
        return split

    def _log_forward(self, logs: Logs, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        begins, ends = np.empty_like(logs[-1]), np.empty_like(logs[-1])
        likelihood = np.zeros(len(self.offsets) - 1, logs[-1].dtype)
        hsmm_log_forward(*logs[:3], self._log_end(logs), logs[3], self.offsets, chosen, begins, ends, likelihood)
        self.log_likelihood[chosen] = likelihood[chosen].real
        return begins, ends, likelihood

    def _log_ages(self, sequence: int, begins: np.ndarray) -> np.ndarray:
        """Return P(z_T = k, its age is d | x) of one sequence."""
        rows = slice(self.offsets[sequence], self.offsets[sequence + 1])
        owner = sequence if len(self.initial) > 1 else 0
        ages = np.zeros(self.ages.shape[1:])
        seen = min(int(rows.stop - rows.start), self.ages.shape[2])
        inside = np.cumsum(self.logs[-1][rows][::-1], axis=0)[:seen].T
        logs = begins[rows][::-1][:seen].T + inside + log_survival(self.logs[2][owner])[:, :seen]
        if self.log_likelihood[sequence] > -np.inf:
            ages[:, :seen] = np.exp(logs - self.log_likelihood[sequence])
        return ages

    def _log_end(self, logs: Logs) -> np.ndarray:
        return log_survival(logs[2]) if self.censored else logs[2]
