"""What every estimator over a `RatingModel` does once it is fitted: predict, judge, count and store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.evaluation import evaluate_ratings
from gossamer.metrics.size import count_bytes
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.ratings.rating_model import RatingModel
from gossamer.persistence import JSON, Persistent, check_names


class FittedRatings(Persistent, BaseEstimator):
    """The fitted half of an estimator of ratings: `fit` leaves `model_`, `users_`, `items_` and `history_`."""

    model_: RatingModel
    users_: Vocabulary
    items_: Vocabulary
    history_: JSON
    holds_model_: bool = True  # false where another process alone has gathered a divided table

    def _check_model(self) -> None:
        """Refuse what needs the model where there is none, for one reason or the other."""
        if not self.holds_model_:
            raise ValueError("the model must be asked on process 0, which alone has gathered it, got another process")
        check_is_fitted(self, "model_")

    def predict(self, data: Interactions) -> Float[np.ndarray, " nnz"]:
        """Return one rating per interaction of `data`, in its order; users and items are found by their ids."""
        self._check_model()
        check_interactions(data)
        users, items = data.pairs()
        return self.model_.rate(self.users_.find(data.users.ids)[users], self.items_.find(data.items.ids)[items])

    def evaluate(self, data: HeldOut) -> dict[str, float]:
        """Return mse and mae over the target ratings."""
        return evaluate_ratings(self.predict, data)

    def item_vectors(self) -> Float[np.ndarray, "M D"]:
        """Return the vectors by which items match users, whatever the table is made of."""
        self._check_model()
        return self.model_.item_vectors()

    def num_values(self) -> int:
        """Return how many numbers are stored, the mean included."""
        self._check_model()
        return self.model_.num_values()

    def num_bytes(self) -> int:
        """Return the bytes of what is stored, indices included."""
        return count_bytes(self.learned_arrays())

    def size_report(self) -> dict[str, float]:
        """Return what is stored, beside the numbers of dense tables of the same width."""
        self._check_model()
        tables = (self.model_.users, self.model_.items)
        dense, values = sum(table.num_embeddings * table.embedding_dim for table in tables), self.num_values()
        return {"dense_values": dense, "values": values, "bytes": self.num_bytes(), "ratio": dense / values}

    def entries_per_row(self) -> dict[str, Int[np.ndarray, " V"]]:
        """Return how many anchors each user and item is made of; nothing for tables without anchors."""
        self._check_model()
        tables = {"users": self.model_.users, "items": self.model_.items}
        return {
            name: np.diff(table.transform().indptr)
            for name, table in tables.items()
            if isinstance(table, AnchorEmbedding)
        }

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the mean, biases, and what both tables store."""
        self._check_model()
        return self.model_.stored()

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the vocabularies of users and items."""
        return {"users": self.users_, "items": self.items_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history and the tables' shapes."""
        check_is_fitted(self, "history_")
        return {"history": self.history_, "tables": self.model_.configs()}

    def _take_back(
        self,
        method: str,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Set the learned state from an artifact whose tables are of `method`, checked."""
        check_names(vocabularies, {"users", "items"}, "vocabularies")
        self.users_, self.items_ = vocabularies["users"], vocabularies["items"]
        sizes = {"users": len(self.users_), "items": len(self.items_)}
        self.model_ = RatingModel.restored(method, metadata["tables"], arrays, sizes)
        self.history_ = metadata["history"]


def check_interactions(data: Any) -> None:
    """Raise a ValueError unless `data` is Interactions."""
    if not isinstance(data, Interactions):
        raise ValueError(f"data must be Interactions, got {type(data).__name__}")


def ratings_of(data: Any) -> sparse.csr_array:
    """Return the ratings of `data`, users × items, or say that there are none."""
    check_interactions(data)
    if data.rating is None or data.nnz == 0:
        raise ValueError("data must have at least one interaction with a rating, got none")
    return data.matrix("rating")
