"""Biased matrix factorisation: a rating is a mean, what the user and the item add, and how they match."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.evaluation import evaluate_ratings
from gossamer.metrics.size import count_values
from gossamer.models.item_ranker import check_interactions
from gossamer.models.linear.least_squares import predict_ratings
from gossamer.models.linear.step import RatingSweep, whole_data
from gossamer.persistence import JSON, Persistent, check_array, check_names


class BiasedMF(Persistent, BaseEstimator):
    """Predicts ratings as μ + b_u + b_i + p_u·q_i, by alternating ridge (Koren et al. 2009; Zhou et al. 2008).

    Factors pay `regularization` · (number of ratings) · ‖p_u‖², biases `bias_regularization` · b_u²; each row's bias
    and factors are solved together. `num_factors=0` leaves the biases. With validation data the epoch with the lowest
    mse is kept, and training stops after `patience` epochs without a lower one. Users and items that were not in the
    training data get what is known of the pair: the mean and the other's bias.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "mse",
        {
            "num_factors": Integer(2, 64, log=True),
            "regularization": Real(0.01, 0.5, log=True),
            "bias_regularization": Real(0.5, 50, log=True),
        },
    )

    def __init__(
        self,
        *,
        num_factors: int = 16,
        regularization: float = 0.07,
        bias_regularization: float = 5.0,
        epochs: int = 30,
        patience: int | None = 3,
        random_state: int | None = 0,
    ) -> None:
        self.num_factors = num_factors
        self.regularization = regularization
        self.bias_regularization = bias_regularization
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        data: Interactions,
        validation: HeldOut | None = None,
        *,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Sweep over users and items; a run that finds its `checkpoint` goes on from there."""
        from gossamer.training.loop import fit as train

        self._check_arguments()
        ratings = _ratings_of(data)
        self.mean_ = float(ratings.data.mean(dtype=np.float64))
        centred = (ratings.data - self.mean_).astype(np.float32)
        step = RatingSweep(
            sparse.csr_array((centred, ratings.indices, ratings.indptr), shape=ratings.shape),
            num_factors=self.num_factors,
            regularization=self.regularization,
            bias_regularization=self.bias_regularization,
            generator=numpy_generator(self.random_state),
        )
        self.users_, self.items_ = data.users, data.items
        # The step works in place, so validation sees the present sweep.
        self.user_rows_, self.item_rows_ = step.user_factors, step.item_factors
        history = train(
            step,
            whole_data(),
            epochs=self.epochs,
            validate=None if validation is None else lambda: self.evaluate(validation),
            monitor="loss" if validation is None else "mse",
            patience=None if validation is None else self.patience,
            checkpoint=checkpoint,
            log=log,
            description="biased MF",
        )
        self.history_: JSON = history.as_dict()
        return self

    def _check_arguments(self) -> None:
        check_int("num_factors", self.num_factors, at_least=0)
        check_real("regularization", self.regularization, above=0)
        check_real("bias_regularization", self.bias_regularization, above=0)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)

    def predict(self, data: Interactions) -> Float[np.ndarray, " nnz"]:
        """Return one rating per interaction of `data`, in its order; users and items are found by their ids."""
        check_is_fitted(self, "items_")
        check_interactions("data", data)
        users, items = data.pairs()
        return predict_ratings(
            self.mean_,
            _rows_or_zeros(self.user_rows_, self.users_.find(data.users.ids)[users]),
            _rows_or_zeros(self.item_rows_, self.items_.find(data.items.ids)[items]),
        )

    def evaluate(self, data: HeldOut) -> dict[str, float]:
        """Return mse and mae over the target ratings."""
        return evaluate_ratings(self.predict, data)

    def num_values(self) -> int:
        """Return how many numbers are stored, biases and the mean included."""
        return count_values(self.learned_arrays())

    def item_vectors(self) -> Float[np.ndarray, "M D"]:
        """Return the items' factors, without their biases."""
        check_is_fitted(self, "items_")
        return self.item_rows_[:, 1:]

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the items that are rated highest and lowest, other things being equal."""
        check_is_fitted(self, "items_")
        check_int("n", n, at_least=1)
        order = np.argsort(self.item_rows_[:, 0], kind="stable")
        return {
            name: [{"item": self.items_[item], "above the mean": float(self.item_rows_[item, 0])} for item in chosen]
            for name, chosen in (("liked by most", order[::-1][:n]), ("liked by few", order[:n]))
        }

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the mean, and bias and factors of users and items."""
        check_is_fitted(self, "items_")
        return {"mean": np.array([self.mean_]), "user_rows": self.user_rows_, "item_rows": self.item_rows_}

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the vocabularies of users and items."""
        return {"users": self.users_, "items": self.items_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history."""
        check_is_fitted(self, "history_")
        return {"history": self.history_}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"users", "items"}, "vocabularies")
        self._check_arguments()
        width = 1 + self.num_factors
        self.mean_ = float(check_array(arrays, "mean", np.float64, (1,))[0])
        self.user_rows_ = check_array(arrays, "user_rows", np.float32, (len(vocabularies["users"]), width))
        self.item_rows_ = check_array(arrays, "item_rows", np.float32, (len(vocabularies["items"]), width))
        self.users_, self.items_ = vocabularies["users"], vocabularies["items"]
        self.history_ = metadata["history"]


def _ratings_of(data: Any) -> sparse.csr_array:
    check_interactions("data", data)
    if data.rating is None or data.nnz == 0:
        raise ValueError("data must have at least one interaction with a rating, got none")
    return data.matrix("rating")


def _rows_or_zeros(rows: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the chosen rows, zeros where the number is -1: an unknown user or item adds nothing."""
    found: np.ndarray = rows[np.maximum(chosen, 0)]
    found[chosen < 0] = 0
    return found
