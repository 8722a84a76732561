"""Hidden Markov model: an estimator for series that move between a few hidden states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_int
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.models.markov.chains import Chain, HMMChain
from gossamer.models.markov.emissions import EMISSIONS
from gossamer.models.markov.explaining import state_table, transition_table
from gossamer.models.markov.inputs import Batch
from gossamer.models.markov.markov_model import MarkovModel
from gossamer.models.markov.step import emission_part

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing


class HMM(MarkovModel):
    """Hidden Markov model, fitted by EM (Baum and Welch) from the best of several k-means starts.

    `emission` is "gaussian" (a variance per dimension), "gaussian-full", "categorical" (one event per step),
    "multinomial" (strengths of categories) or "poisson". With `tied` one model is for all series; without, each series
    has its own, begun from what is common to all.

    Every start runs `start_epochs` iterations, then the best goes on. `pseudo_count` is added to every count of starts,
    transitions and categories; `variance_weight` is how many observations with the data's variance every state has seen
    beforehand, and `variance_floor` the smallest variance, as a share of the data's.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "loglik",
        {
            "num_states": Integer(2, 12),
            "pseudo_count": Real(0.01, 10, log=True),
        },
    )

    def __init__(
        self,
        *,
        num_states: int = 4,
        emission: str = "gaussian",
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

    def _new_chain(self, batch: Batch, guess: np.ndarray, sharing: Sharing) -> Chain:
        del batch, guess, sharing
        return HMMChain()

    def _fitted_chain(self) -> Chain:
        return HMMChain()

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the states and the most probable moves between them; of the first series where each has a model."""
        check_is_fitted(self, "parameters_")
        check_int("n", n, at_least=1)
        transition = self.parameters_["transition"][0]
        return {
            "states": state_table(
                self.parameters_["initial"][0],
                1 / np.maximum(1 - np.diag(transition), 1e-12),
                EMISSIONS[self.emission].expected(emission_part(self._tensors()))[0].numpy(),
                self.vocabulary_,
                are_probs=self.emission in ("categorical", "multinomial"),
                n=n,
            ),
            "moves": transition_table(transition, n),
        }
