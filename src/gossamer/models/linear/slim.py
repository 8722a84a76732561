"""SLIM: sparse linear methods, an elastic net for every item."""

from __future__ import annotations

from typing import ClassVar, Self

from gossamer.core.checks import check_bool, check_int, check_real
from gossamer.core.search_space import Real, SearchSpace
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.models.item_ranker import values_of
from gossamer.models.linear.functional import slim_weights
from gossamer.models.linear.item_to_item import ItemToItem


class SLIM(ItemToItem):
    """Predicts every item from a few others, with L1 and L2 penalties on absolute counts (Ning and Karypis 2011).

    `l1` makes weights zero, `l2` spreads them over items that go together. `max_sweeps` and `tolerance` end the
    coordinate descent of an item: when no fitted column moves by more than `tolerance` of the target's norm.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "ndcg@100",
        {
            "l1": Real(0.1, 20, log=True),
            "l2": Real(5, 1000, log=True),
        },
    )

    def __init__(
        self,
        *,
        l1: float = 2.0,
        l2: float = 100.0,
        nonnegative: bool = True,
        max_sweeps: int = 100,
        tolerance: float = 1e-3,
        weighted: bool = False,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.nonnegative = nonnegative
        self.max_sweeps = max_sweeps
        self.tolerance = tolerance
        self.weighted = weighted

    def fit(self, data: Interactions, validation: HeldOut | None = None) -> Self:  # noqa: ARG002 (nothing to choose)
        """Fit all items in parallel by coordinate descent on the sparse Gram matrix."""
        check_real("l1", self.l1, at_least=0)
        check_real("l2", self.l2, above=0)
        check_bool("nonnegative", self.nonnegative)
        check_int("max_sweeps", self.max_sweeps, at_least=1)
        check_real("tolerance", self.tolerance, above=0)
        matrix = values_of(data, self.weighted)
        self.weights_ = slim_weights(
            matrix,
            self.l1,
            self.l2,
            nonnegative=self.nonnegative,
            max_sweeps=self.max_sweeps,
            tolerance=self.tolerance,
        )
        self._remember_items(data, matrix)
        return self
