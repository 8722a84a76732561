"""The same list for everyone: what any recommender has to beat."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_int
from gossamer.core.search_space import SearchSpace
from gossamer.core.topk import top_n
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.models.item_ranker import ItemRanker, values_of


class Popularity(ItemRanker):
    """Recommends the items with the most users, or with the largest sum of ratings if `weighted`.

    >>> data = Interactions.from_pairs(["ann", "bob", "bob"], ["tea", "tea", "jam"])
    >>> Popularity().fit(data).recommend(data, n=2, exclude_seen=False).items.tolist()
    [[0, 1], [0, 1]]
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace("ndcg@100")

    def __init__(self, *, weighted: bool = False) -> None:
        self.weighted = weighted

    def fit(self, data: Interactions, validation: HeldOut | None = None) -> Self:  # noqa: ARG002 (nothing to choose)
        """Count the users of every item."""
        self._remember_items(data, values_of(data, self.weighted))
        return self

    def _rank(self, history: Interactions, n: int, seen: sparse.csr_array | None) -> tuple[np.ndarray, np.ndarray]:
        return top_n(np.tile(self.popularity_, (len(history), 1)), n, seen)

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the n most popular items."""
        check_is_fitted(self, "items_")
        check_int("n", n, at_least=1)
        best = np.argsort(-self.popularity_, kind="stable")[:n]
        return {
            "most popular": [{"item": self.items_[item], "users": float(self.popularity_[item])} for item in best],
        }
