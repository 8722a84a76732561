"""Item-based nearest neighbours: people who took this also took that."""

from __future__ import annotations

from typing import ClassVar, Self

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.search_space import Choice, Integer, Real, SearchSpace
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.models.item_ranker import values_of
from gossamer.models.linear.functional import cosine_neighbours, weight_by_bm25, weight_by_idf
from gossamer.models.linear.item_to_item import ItemToItem

WEIGHTINGS = {"none": lambda matrix: matrix, "tf-idf": weight_by_idf, "bm25": weight_by_bm25}


class ItemKNN(ItemToItem):
    """Scores an item by its similarity to the items of the history (Deshpande and Karypis 2004).

    Similarity is the cosine of two items' columns with `shrinkage` added to the denominator, after `weighting` the
    columns by "tf-idf" or "bm25" (items as documents, users as terms) or not at all; every item keeps its
    `num_neighbours` most similar ones. With `weighted`, ratings count as weights.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "ndcg@100",
        {
            "num_neighbours": Integer(10, 400, log=True),
            "shrinkage": Real(0, 100),
            "weighting": Choice(("none", "tf-idf", "bm25")),
        },
    )

    def __init__(
        self,
        *,
        num_neighbours: int = 100,
        shrinkage: float = 10.0,
        weighting: str = "tf-idf",
        weighted: bool = False,
    ) -> None:
        self.num_neighbours = num_neighbours
        self.shrinkage = shrinkage
        self.weighting = weighting
        self.weighted = weighted

    def fit(self, data: Interactions, validation: HeldOut | None = None) -> Self:  # noqa: ARG002 (nothing to choose)
        """Find the neighbours of every item; time O(Σ_u n_u²), memory one block of the Gram matrix at a time."""
        check_int("num_neighbours", self.num_neighbours, at_least=1)
        check_real("shrinkage", self.shrinkage, at_least=0)
        weigh = WEIGHTINGS[check_choice("weighting", self.weighting, WEIGHTINGS)]
        matrix = values_of(data, self.weighted)
        self.weights_ = cosine_neighbours(weigh(matrix), self.num_neighbours, self.shrinkage)
        self._remember_items(data, matrix)
        return self
