"""Hidden semi-Markov model: an estimator for series of phases that last for a while."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float64
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_choice, check_int
from gossamer.core.search_space import Choice, Integer, Real, SearchSpace
from gossamer.data.sequences import Sequences
from gossamer.models.markov import forecasting, starts
from gossamer.models.markov.chains import Chain, HSMMChain
from gossamer.models.markov.durations import DURATIONS
from gossamer.models.markov.emissions import EMISSIONS
from gossamer.models.markov.explaining import state_table, transition_table
from gossamer.models.markov.inputs import Batch
from gossamer.models.markov.markov_model import MarkovModel
from gossamer.models.markov.step import emission_part
from gossamer.models.markov.together import largest
from gossamer.persistence import JSON

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

TABLE_MEANS = 6  # a free table is this many times as long as phases last on average at the start


class NextPhase(NamedTuple):
    """What follows the present phase of every series: which state (B, K), and after how many more steps (B, D)."""

    state_probs: Float64[np.ndarray, "B K"]
    steps_left_probs: Float64[np.ndarray, "B D"]


class HSMM(MarkovModel):
    """Hidden semi-Markov model with explicit durations, fitted by EM; the last phase of a series may go on beyond it.

    `duration` is "poisson" (1 + Poisson), "negative-binomial" (1 + that) or "table" (any probabilities). Phases last
    `max_duration` steps at most; None chooses it so that at most 1e-6 of every state's distribution lies beyond, up to
    the length of the longest series (a table is six times as long as phases are in the first guess). The prior of a
    state's durations is `pseudo_count` phases of the distribution that all states start with. A state is never
    followed by itself. All other arguments are those of `HMM`.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "loglik",
        {
            "num_states": Integer(2, 12),
            "duration": Choice(("poisson", "negative-binomial", "table")),
            "pseudo_count": Real(0.01, 10, log=True),
        },
    )

    def __init__(
        self,
        *,
        num_states: int = 4,
        emission: str = "gaussian",
        duration: str = "poisson",
        max_duration: int | None = None,
        tied: bool = True,
        num_starts: int = 4,
        start_epochs: int = 5,
        epochs: int = 200,
        tolerance: float = 1e-5,
        pseudo_count: float = 0.1,
        variance_weight: float = 1.0,
        variance_floor: float = 1e-3,
        patience: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.num_states = num_states
        self.emission = emission
        self.duration = duration
        self.max_duration = max_duration
        self.tied = tied
        self.num_starts = num_starts
        self.start_epochs = start_epochs
        self.epochs = epochs
        self.tolerance = tolerance
        self.pseudo_count = pseudo_count
        self.variance_weight = variance_weight
        self.variance_floor = variance_floor
        self.patience = patience
        self.random_state = random_state

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_int("num_states", self.num_states, at_least=2)
        check_choice("duration", self.duration, DURATIONS)
        if self.max_duration is not None:
            check_int("max_duration", self.max_duration, at_least=1)

    def _new_chain(self, batch: Batch, guess: np.ndarray, sharing: Sharing) -> Chain:
        mean = max(2.0, starts.mean_run(guess, batch.offsets, sharing))
        family, longest_series = DURATIONS[self.duration], largest(int(np.diff(batch.offsets).max()), sharing)
        if self.max_duration is not None:
            return HSMMChain(family, self.max_duration, prior_mean=mean)
        needed = family.longest(family.start(2 * mean, self.num_states, 1))
        if needed is None:
            return HSMMChain(family, min(longest_series, int(np.ceil(TABLE_MEANS * mean))), prior_mean=mean)
        return HSMMChain(family, min(needed, longest_series), most=longest_series, prior_mean=mean)

    def _fitted_chain(self) -> HSMMChain:
        return HSMMChain(DURATIONS[self.duration], self.longest_duration_)

    def _remember_chain(self, chain: Chain) -> None:
        assert isinstance(chain, HSMMChain)
        self.longest_duration_ = chain.longest

    def next_phase(self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None) -> NextPhase:
        """Return which phase follows the present one of every series, and how many steps are left until then."""
        check_is_fitted(self, "parameters_")
        batch = self._read(data, lengths, missing)
        chain, parameters = self._fitted_chain(), self._tensors()
        ages = chain.last_ages(parameters, self._log_density(batch), batch.offsets)
        following = forecasting.next_phase(ages, parameters["transition"])
        return NextPhase(following.numpy(), forecasting.steps_left(ages, chain.log_table(parameters).exp()).numpy())

    def duration_probs(self) -> Float64[np.ndarray, "P K D"]:
        """Return P(a phase lasts d steps), d = 1 … `longest_duration_`, of every model and state."""
        check_is_fitted(self, "parameters_")
        return self._fitted_chain().log_table(self._tensors()).exp().numpy()

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the states and the most probable moves between them; of the first series where each has a model."""
        check_is_fitted(self, "parameters_")
        check_int("n", n, at_least=1)
        table = self.duration_probs()[0]
        return {
            "states": state_table(
                self.parameters_["initial"][0],
                table @ np.arange(1, table.shape[1] + 1),
                EMISSIONS[self.emission].expected(emission_part(self._tensors()))[0].numpy(),
                self.vocabulary_,
                are_probs=self.emission in ("categorical", "multinomial"),
                n=n,
            ),
            "moves": transition_table(self.parameters_["transition"][0], n),
        }

    def learned_metadata(self) -> dict[str, JSON]:
        """Return sizes, the longest duration and the training history."""
        return {**super().learned_metadata(), "longest_duration": self.longest_duration_}

    def _restore_chain(self, metadata: Mapping[str, JSON]) -> None:
        self.longest_duration_ = check_int("longest_duration", metadata["longest_duration"], at_least=1)
