"""What kNN, EASE and SLIM are: one weight for every pair of items, dense or sparse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float32
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_int
from gossamer.core.topk import top_n
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.item_ranker import ItemRanker, values_of
from gossamer.models.linear.functional import score_items
from gossamer.persistence import JSON, check_array, pack_csr, unpack_csr

NUM_SIMILAR = 5


class ItemToItem(ItemRanker):
    """Scores x @ W: row i of `weights_` (M, M) holds what item i in a history adds to the score of every item.

    A subclass sets `weights_`, dense or CSR, in its `fit`; its argument `weighted` says whether ratings are weights.
    """

    weighted: bool
    weights_: np.ndarray | sparse.csr_array

    def _rank(self, history: Interactions, n: int, seen: sparse.csr_array | None) -> tuple[np.ndarray, np.ndarray]:
        return top_n(score_items(values_of(history, self.weighted, "history"), self.weights_), n, seen)

    def item_weights(self, item: int) -> Float32[np.ndarray, " M"]:
        """Return what one item, by its index, adds to the score of every item: a copy of its row of weights."""
        check_is_fitted(self, "items_")
        votes = self.weights_[[item]]
        dense = votes if isinstance(votes, np.ndarray) else votes.toarray()
        return np.array(dense[0], dtype=np.float32)

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return a table of the n most popular items and the items that each of them speaks for most."""
        check_is_fitted(self, "items_")
        check_int("n", n, at_least=1)
        table = []
        for item in np.argsort(-self.popularity_, kind="stable")[:n]:
            best, scores = top_n(self.item_weights(int(item))[None, :], NUM_SIMILAR)
            named = [str(self.items_[other]) for other, score in zip(best[0], scores[0], strict=True) if score > 0]
            table.append({"item": self.items_[item], "speaks for": ", ".join(named)})
        return {"what popular items speak for": table}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return popularity and the weights."""
        learned = super().learned_arrays()
        if isinstance(self.weights_, np.ndarray):
            return learned | {"weights": self.weights_}
        return learned | pack_csr("weights", self.weights_)

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        super().restore(arrays, vocabularies, metadata)
        shape = (len(self.items_), len(self.items_))
        if "weights" in arrays:
            self.weights_ = check_array(arrays, "weights", np.float32, shape)
            return
        self.weights_ = unpack_csr("weights", arrays)
        if self.weights_.shape != shape or self.weights_.dtype != np.float32:
            raise ValueError(f"weights must be float32 {shape}, got {self.weights_.dtype} {self.weights_.shape}")
