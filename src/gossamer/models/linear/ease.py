"""EASE: embarrassingly shallow autoencoders, a closed form that is hard to beat."""

from __future__ import annotations

import logging
from typing import ClassVar, Self

from gossamer.core.checks import check_int, check_real
from gossamer.core.search_space import Real, SearchSpace
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.models.item_ranker import values_of
from gossamer.models.linear.functional import ease_weights
from gossamer.models.linear.item_to_item import ItemToItem
from gossamer.models.linear.memory import available_bytes

logger = logging.getLogger(__name__)


class EASE(ItemToItem):
    """Predicts every item from all others by one ridge regression with a zero diagonal (Steck 2019).

    The weights are dense, 4 M² bytes for M items (`memory_needed`), and so is the peak of fitting. More than
    `max_bytes` (by default, what the machine has free) is refused before anything is computed.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "ndcg@100",
        {
            "regularization": Real(1, 5000, log=True),
        },
    )

    def __init__(self, *, regularization: float = 250.0, weighted: bool = False, max_bytes: int | None = None) -> None:
        self.regularization = regularization
        self.weighted = weighted
        self.max_bytes = max_bytes

    @staticmethod
    def memory_needed(num_items: int) -> int:
        """Return the bytes that fitting takes beyond the data: one single-precision M × M matrix.

        >>> EASE.memory_needed(20_000)
        1600000000
        """
        return 4 * num_items * num_items

    def fit(self, data: Interactions, validation: HeldOut | None = None) -> Self:  # noqa: ARG002 (nothing to choose)
        """Invert the regularised Gram matrix; time O(Σ_u n_u² + M³)."""
        check_real("regularization", self.regularization, above=0)
        if self.max_bytes is not None:
            check_int("max_bytes", self.max_bytes, at_least=1)
        matrix = values_of(data, self.weighted)
        self._check_memory(matrix.shape[1])
        self.weights_ = ease_weights(matrix, self.regularization)
        self._remember_items(data, matrix)
        return self

    def _check_memory(self, num_items: int) -> None:
        needed = self.memory_needed(num_items)
        allowed = available_bytes() if self.max_bytes is None else self.max_bytes
        logger.info("EASE needs %.2f GB for %d items", needed / 1e9, num_items)
        if allowed is not None and needed > allowed:
            raise ValueError(
                f"data must have fewer items for EASE, got {num_items:,}, which need {needed / 1e9:.2f} GB where "
                f"{allowed / 1e9:.2f} GB are allowed; drop rare items (minimum-count filtering), raise max_bytes, "
                "or use SLIM or ALS"
            )
