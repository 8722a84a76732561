"""What the item rankers share: recommending in batches, judging, and the way through an artifact."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_bool, check_int
from gossamer.core.protocols import Recommendations
from gossamer.core.topk import batch_rows, top_n
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.evaluation import evaluate_ranking
from gossamer.persistence import JSON, Persistent, check_array, check_names

METRICS = ("recall@20", "recall@50", "ndcg@100")


class ItemRanker(Persistent, BaseEstimator):
    """Ranks items for any user, known or new, from the user's history alone.

    A subclass sets `items_` and `popularity_` by `_remember_items` in its `fit`, and says in `_rank` what it puts first
    for a block of histories. Users without any known item in their history get the most popular items.
    """

    items_: Vocabulary
    popularity_: np.ndarray

    def recommend(self, history: Interactions, n: int = 10, *, exclude_seen: bool = True) -> Recommendations:
        """Return the n best items of every user of `history`, as indices into `items_`, whatever items history has.

        Items of the history that the model does not know are left out, and so are, with `exclude_seen`, those in it
        from the answer. Scores of one block of users exist at a time, never users × items.
        """
        check_is_fitted(self, "items_")
        check_int("n", n, at_least=1)
        check_bool("exclude_seen", exclude_seen)
        known = check_interactions("history", history).aligned_to(self.items_)
        items = np.empty((len(known), n), dtype=np.int32)
        scores = np.empty((len(known), n), dtype=np.float32)
        size = batch_rows(len(self.items_))
        for start in range(0, len(known), size):
            rows = known[start : start + size]
            answer = self._rank(rows, n, rows.matrix() if exclude_seen else None)
            items[start : start + size], scores[start : start + size] = answer
        strangers = self._strangers(known)
        if strangers.any():
            items[strangers], scores[strangers] = top_n(self.popularity_[None, :].copy(), n)
        return Recommendations(items, scores)

    def _strangers(self, history: Interactions) -> np.ndarray:
        """Say which users get the most popular items, because nothing is known of them."""
        is_stranger: np.ndarray = history.user_counts == 0
        return is_stranger

    @abstractmethod
    def _rank(self, history: Interactions, n: int, seen: sparse.csr_array | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the n best items of a block of users, over `items_`, and their scores, without those in `seen`."""

    def evaluate(self, data: HeldOut) -> dict[str, float]:
        """Return Recall@20, Recall@50 and NDCG@100 over users; a target that the model does not know is a miss."""
        check_is_fitted(self, "items_")
        held_out = check_held_out("data", data).over_items(self.items_)
        return evaluate_ranking(self.recommend, held_out, METRICS).mean()

    def _remember_items(self, data: Interactions, matrix: sparse.csr_array) -> None:
        """Keep the vocabulary, and the column sums that users without a history are answered with."""
        self.items_ = data.items
        sums = np.bincount(matrix.indices, matrix.data, matrix.shape[1])
        self.popularity_ = sums.astype(np.float32)

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the artifact."""
        check_is_fitted(self, "items_")
        return {"popularity": self.popularity_}

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the vocabulary of items."""
        return {"items": self.items_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return nothing: closed forms have no history."""
        return {}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],  # noqa: ARG002 (closed forms have no history)
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"items"}, "vocabularies")
        items = vocabularies["items"]
        self.popularity_ = check_array(arrays, "popularity", np.float32, (len(items),))
        self.items_ = items


def check_interactions(name: str, data: Any) -> Interactions:
    """Return `data` if it is Interactions, else raise a ValueError that says how to make some."""
    if not isinstance(data, Interactions):
        raise ValueError(
            f"{name} must be Interactions, got {type(data).__name__}; build it with Interactions.from_pairs"
        )
    return data


def check_held_out(name: str, data: Any) -> HeldOut:
    """Return `data` if it is HeldOut with something to predict, else raise a ValueError that says what it is."""
    if not isinstance(data, HeldOut):
        raise ValueError(f"{name} must be HeldOut, got {type(data).__name__}; build it with HeldOut(history, target)")
    if data.target.nnz == 0:
        raise ValueError(f"{name} must have at least one target interaction, got 0")
    return data


def values_of(data: Any, weighted: bool, name: str = "data") -> sparse.csr_array:
    """Return users × items of ones, or of ratings where they are to count as weights."""
    check_interactions(name, data)
    if data.nnz == 0 and name == "data":
        raise ValueError("data must have at least one interaction, got 0")
    if not check_bool("weighted", weighted):
        return data.matrix()
    if data.rating is None:
        raise ValueError(f"weighted must be False where {name} has no rating, got True")
    if data.nnz and data.rating.min() < 0:
        raise ValueError(f"rating must be >= 0 to count as a weight, got {data.rating.min()}")
    return data.matrix("rating")
