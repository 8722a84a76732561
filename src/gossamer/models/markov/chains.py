"""How hidden states follow each other: plain Markov, or segments with a duration, each with its E- and M-step.

Parameters are dicts of tensors with owners, like those of emissions: `initial`, `transition`, and `duration.*`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gossamer.models.markov import hmm_recursions, hsmm_recursions
from gossamer.models.markov.durations import Duration
from gossamer.models.markov.emissions.family import Parameters, dirichlet_log_prior, dirichlet_mode, log_probs
from gossamer.models.markov.forecasting import next_hsmm_states
from gossamer.models.markov.labels import Labels
from gossamer.models.markov.sampling import sample_hmm_states, sample_hsmm_states
from gossamer.models.markov.together import add_up

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing


class Expected(NamedTuple):
    """The E-step: log-likelihood (B), posterior (N, K), and counts by the name of their parameter."""

    log_likelihood: Float[Tensor, " B"]
    states: Float[Tensor, "N K"]
    counts: dict[str, Tensor]


class Chain(Protocol):
    """What an estimator asks of the hidden states."""

    def start(self, labels: Labels, offsets: np.ndarray, num_states: int, sharing: Sharing | None = None) -> Parameters:
        """Return parameters of one owner from a first guess of the states, that of all processes by `sharing`."""

    def expect(self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray) -> Expected:
        """Return the E-step."""

    def logs(self, parameters: Parameters) -> tuple[Tensor, ...]:
        """Return the logs that the E-step works with, in the order of its counts, which are derivatives by them."""

    def maximise(self, counts: dict[str, Tensor], previous: Parameters, pseudo_count: float) -> Parameters:
        """Return the M-step."""

    def log_prior(self, parameters: Parameters, pseudo_count: float) -> Float[Tensor, " P"]:
        """Return the log prior density of every owner's parameters, but for a constant."""

    def log_likelihood(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Float[Tensor, " B"]:
        """Return log p(x) of every sequence."""

    def best_path(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Int64[Tensor, " N"]:
        """Return the most probable states."""

    def next_states(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Float[Tensor, "B K"]:
        """Return P(state of the step after the last | x)."""

    def sample(self, parameters: Parameters, lengths: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return states of new sequences."""

    def shapes(self, num_states: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters of one owner."""

    def num_free(self, num_states: int) -> int:
        """Return the number of free parameters of one owner."""


def _label_counts(
    labels: Labels, offsets: np.ndarray, num_states: int, sharing: Sharing | None
) -> tuple[Float[Tensor, "1 K"], Float[Tensor, "1 K K"]]:
    """Return how often a labelled sequence begins with a state, and how often one follows another."""
    begins = offsets[:-1][np.diff(offsets) > 0]
    initial = np.bincount(labels[begins], minlength=num_states).astype(np.float64)
    follows = np.ones(len(labels), dtype=bool)
    follows[begins] = False
    here = np.flatnonzero(follows)
    pairs = np.zeros((num_states, num_states))
    np.add.at(pairs, (labels[here - 1], labels[here]), 1.0)
    initial, pairs = add_up(initial, sharing), add_up(pairs, sharing)
    return torch.from_numpy(initial)[None], torch.from_numpy(pairs)[None]


class HMMChain:
    """The next state depends on this one."""

    def start(self, labels: Labels, offsets: np.ndarray, num_states: int, sharing: Sharing | None = None) -> Parameters:
        """Count the labels, with one more of everything: a first guess must exclude nothing."""
        initial, pairs = _label_counts(labels, offsets, num_states, sharing)
        return {"initial": dirichlet_mode(initial, 1.0, None), "transition": dirichlet_mode(pairs, 1.0, None)}

    def expect(self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray) -> Expected:
        """Run forward and backward."""
        found = hmm_recursions.hmm_expected_counts(*self.logs(parameters), log_emissions, offsets)
        return Expected(found.log_likelihood, found.states, {"initial": found.initial, "transition": found.transition})

    def maximise(self, counts: dict[str, Tensor], previous: Parameters, pseudo_count: float) -> Parameters:
        """Return shares of the counts (equations 4.7 and 4.8), pseudo-counts added."""
        return {name: dirichlet_mode(counts[name], pseudo_count, previous[name]) for name in ("initial", "transition")}

    def log_prior(self, parameters: Parameters, pseudo_count: float) -> Float[Tensor, " P"]:
        """Return the log of the Dirichlet priors."""
        priors = [dirichlet_log_prior(parameters[name], pseudo_count) for name in ("initial", "transition")]
        return priors[0] + priors[1]

    def log_likelihood(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Float[Tensor, " B"]:
        """Run forward."""
        return hmm_recursions.hmm_log_likelihood(*self.logs(parameters), log_emissions, offsets)

    def best_path(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Int64[Tensor, " N"]:
        """Run Viterbi."""
        return hmm_recursions.hmm_best_path(*self.logs(parameters), log_emissions, offsets)[0]

    def next_states(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Float[Tensor, "B K"]:
        """Move the last step's posterior on."""
        states = hmm_recursions.hmm_posterior(*self.logs(parameters), log_emissions, offsets)
        last = states[torch.from_numpy(offsets[1:] - 1)]
        return torch.einsum("bi,bij->bj", last, parameters["transition"].expand(len(last), -1, -1))

    def sample(self, parameters: Parameters, lengths: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Draw paths."""
        return sample_hmm_states(parameters["initial"].numpy(), parameters["transition"].numpy(), lengths, generator)

    def shapes(self, num_states: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of initial and transition probabilities."""
        return {"initial": (num_states,), "transition": (num_states, num_states)}

    def num_free(self, num_states: int) -> int:
        """Return the number of probabilities, less one per distribution."""
        return (num_states - 1) * (num_states + 1)

    def logs(self, parameters: Parameters) -> tuple[Tensor, Tensor]:
        """Return the logs of initial and transition probabilities."""
        return log_probs(parameters["initial"]), log_probs(parameters["transition"])


class HSMMChain:
    """A state lasts for a while, and then another follows; the last segment is cut off by the end.

    `longest` is the longest duration. It is raised in the M-step, up to `most`, whenever more than `durations.TAIL` of
    a state's distribution would lie beyond it. The prior of durations is `pseudo_count` segments of the
    distribution that everything starts with.
    """

    def __init__(self, family: Duration, longest: int, *, most: int = 0, prior_mean: float = 5.0) -> None:
        self.family, self.longest, self.most, self.prior_mean = family, longest, most, prior_mean

    def start(self, labels: Labels, offsets: np.ndarray, num_states: int, sharing: Sharing | None = None) -> Parameters:
        """Count where labels change; states begin with equal durations."""
        initial, pairs = _label_counts(labels, offsets, num_states, sharing)
        durations = self.family.start(self.prior_mean, num_states, self.longest)
        return {
            "initial": dirichlet_mode(initial, 1.0, None),
            "transition": dirichlet_mode((pairs + 1.0) * _others(num_states), 0.0, None),
            **{f"duration.{name}": value for name, value in durations.items()},
        }

    def expect(self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray) -> Expected:
        """Run forward and backward."""
        found = hsmm_recursions.hsmm_expected_counts(*self.logs(parameters), log_emissions, offsets)
        counts = {"initial": found.initial, "transition": found.transition, "duration": found.duration}
        return Expected(found.log_likelihood, found.states, counts)

    def maximise(self, counts: dict[str, Tensor], previous: Parameters, pseudo_count: float) -> Parameters:
        """Return shares of the counts, and the durations that fit theirs."""
        num_states = counts["initial"].shape[-1]
        transition = counts["transition"] + pseudo_count * _others(num_states)
        lasted = counts["duration"] + pseudo_count * self._prior_table(num_states)
        durations = self.family.maximise(lasted, self._durations(previous))
        needed = self.family.longest(durations) if self.most > self.longest else None
        self.longest = max(self.longest, min(needed or 0, self.most))
        return {
            "initial": dirichlet_mode(counts["initial"], pseudo_count, previous["initial"]),
            "transition": dirichlet_mode(transition, 0.0, previous["transition"]),
            **{f"duration.{name}": value for name, value in durations.items()},
        }

    def log_prior(self, parameters: Parameters, pseudo_count: float) -> Float[Tensor, " P"]:
        """Return the log of the Dirichlet priors and of the pseudo-segments."""
        initial = dirichlet_log_prior(parameters["initial"], pseudo_count)
        transition = dirichlet_log_prior(parameters["transition"], pseudo_count)
        if pseudo_count == 0:
            return initial + transition
        believed = self._prior_table(parameters["initial"].shape[-1])
        logs = self.log_table(parameters).clamp_min(-1e300)
        return initial + transition + pseudo_count * (believed * logs).flatten(1).sum(1)

    def log_likelihood(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Float[Tensor, " B"]:
        """Run forward."""
        return hsmm_recursions.hsmm_log_likelihood(*self.logs(parameters), log_emissions, offsets)

    def best_path(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Int64[Tensor, " N"]:
        """Run Viterbi."""
        return hsmm_recursions.hsmm_best_path(*self.logs(parameters), log_emissions, offsets)[0]

    def last_ages(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Float[Tensor, "B K D"]:
        """Return P(the last step is in k, d steps into its segment | x)."""
        return hsmm_recursions.hsmm_last_ages(*self.logs(parameters), log_emissions, offsets)

    def next_states(
        self, parameters: Parameters, log_emissions: Float[Tensor, "N K"], offsets: np.ndarray
    ) -> Float[Tensor, "B K"]:
        """Go on with the last segment, or leave it."""
        ages = self.last_ages(parameters, log_emissions, offsets)
        return next_hsmm_states(ages, self.log_table(parameters).exp(), parameters["transition"])

    def sample(self, parameters: Parameters, lengths: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Draw segments."""
        initial, transition = parameters["initial"].numpy(), parameters["transition"].numpy()
        return sample_hsmm_states(initial, transition, self.log_table(parameters).exp().numpy(), lengths, generator)

    def shapes(self, num_states: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of initial, transition and duration parameters."""
        durations = self.family.shapes(num_states, self.longest)
        return HMMChain().shapes(num_states) | {f"duration.{name}": shape for name, shape in durations.items()}

    def num_free(self, num_states: int) -> int:
        """Return the number of free parameters; a state does not follow itself."""
        return num_states - 1 + num_states * (num_states - 2) + self.family.num_free(num_states, self.longest)

    def log_table(self, parameters: Parameters) -> Float[Tensor, "P K D"]:
        """Return log P(d) of every state."""
        return self.family.log_table(self._durations(parameters), self.longest)

    def _prior_table(self, num_states: int) -> Float[Tensor, "1 K D"]:
        start = self.family.start(self.prior_mean, num_states, self.longest)
        return self.family.log_table(start, self.longest).exp()

    def _durations(self, parameters: Parameters) -> Parameters:
        prefix = "duration."
        return {name.removeprefix(prefix): value for name, value in parameters.items() if name.startswith(prefix)}

    def logs(self, parameters: Parameters) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logs of initial, transition and duration probabilities."""
        return log_probs(parameters["initial"]), log_probs(parameters["transition"]), self.log_table(parameters)


def _others(num_states: int) -> Float[Tensor, "K K"]:
    """Return 1 for every pair of different states."""
    return 1 - torch.eye(num_states, dtype=torch.double)
