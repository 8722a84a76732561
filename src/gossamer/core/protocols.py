"""What a model can do, as small protocols: the doors that the command line, runner and service knock on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class Recommendations:
    """The best items of each user, best first.

    `items` (B, n) holds item indices and `scores` (B, n) their scores; a user with fewer than n candidates
    has item -1 and score -inf at the end.
    """

    items: Int[np.ndarray, "B n"]
    scores: Float[np.ndarray, "B n"]

    def __len__(self) -> int:
        return len(self.items)


@runtime_checkable
class Estimator(Protocol):
    """Anything that can be fitted, judged and saved."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments."""

    def fit(self, data: Any, validation: Any = None) -> Estimator:
        """Learn from `data`, choosing on `validation` where there is something to choose."""

    def evaluate(self, data: Any) -> dict[str, float]:
        """Return named measures on held-out data."""


@runtime_checkable
class Transformer(Protocol):
    """Gives each observation a code, sparse CSR where codes are sparse."""

    def transform(self, data: Any) -> Any:
        """Return one code per observation."""


@runtime_checkable
class Recommender(Protocol):
    """Ranks items for users, known or new, from their history."""

    def recommend(self, history: Any, n: int = 10, *, exclude_seen: bool = True) -> Recommendations:
        """Return the n best items for every row of `history`."""


@runtime_checkable
class Predictor(Protocol):
    """Predicts one value per observation, for example a rating per (user, item) pair."""

    def predict(self, data: Any) -> Any:
        """Return one prediction per observation."""


@runtime_checkable
class Sampler(Protocol):
    """Draws new observations."""

    def sample(self, n: int, *, random_state: int | None = None) -> Any:
        """Return n new observations."""


@runtime_checkable
class Explainer(Protocol):
    """Tells people what was learned."""

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return named tables (lists of dicts) for people to read; the report shows them as they are."""


@runtime_checkable
class ItemSpace(Protocol):
    """Has a vector for every item, term or word of its vocabulary; things alike lie in the same direction."""

    def item_vectors(self) -> Float[np.ndarray, "M D"]:
        """Return one vector per item, in the order of the vocabulary."""


@runtime_checkable
class ItemGraph(Protocol):
    """Has a weight for pairs of items instead of vectors."""

    def item_weights(self, item: int) -> Float[np.ndarray, " M"]:
        """Return how strongly one item, by its index, speaks for every item; 0 where it says nothing."""


@runtime_checkable
class Forecaster(Protocol):
    """Says what follows the last step of series."""

    def predict_proba(self, data: Any) -> Any:
        """Return the probability of every state at every step."""

    def next_observation(self, data: Any) -> Any:
        """Return the probabilities of the next states (B, K) and what is expected of the next step (B, D)."""
