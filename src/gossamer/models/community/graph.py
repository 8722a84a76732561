"""The bipartite graph: users and items joined by interactions, items joined to items by the users they share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64
from scipy import sparse

from gossamer.core.checks import check_int, check_real
from gossamer.data.interactions import Interactions
from gossamer.data.splits.parts import ranks_in_rows
from gossamer.models.community.cooccurrence_kernels import nearest_items
from gossamer.models.community.sampling import running_sums

SECONDS_PER_DAY = 86_400


@dataclass(frozen=True)
class Edges:
    """CSR rows of neighbours with weights; columns rise within a row."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None = None

    @cached_property
    def cumulative(self) -> Float64[np.ndarray, " Z"] | None:
        """Running sums of weights within rows, None where all count alike."""
        return None if self.weights is None else running_sums(self.indptr, self.weights)

    @property
    def degrees(self) -> np.ndarray:
        """The number of neighbours of every row."""
        return np.diff(self.indptr)

    def reversed(self, num_columns: int) -> Edges:
        """Return the same edges seen from the other side."""
        data = np.ones(len(self.indices), dtype=np.float32) if self.weights is None else self.weights
        matrix = sparse.csr_array((data, self.indices, self.indptr), shape=(len(self.indptr) - 1, num_columns))
        turned = matrix.tocsc()
        weights = None if self.weights is None else turned.data
        return Edges(turned.indptr.astype(np.int64), turned.indices.astype(np.int32), weights)


@dataclass(frozen=True)
class BipartiteGraph:
    """Edges user → item, item → user and item → item.

    `time_order` ranks each user's edges by time; it is None where there are no times.
    """

    user_items: Edges
    item_users: Edges
    item_items: Edges
    time_order: np.ndarray | None

    @property
    def num_users(self) -> int:
        """N."""
        return len(self.user_items.indptr) - 1

    @property
    def num_items(self) -> int:
        """M."""
        return len(self.item_users.indptr) - 1

    @classmethod
    def from_interactions(
        cls, data: Interactions, *, weighted: bool = False, half_life_days: float | None = None, item_edges: int = 10
    ) -> BipartiteGraph:
        """Build from interactions; a repeated pair is one edge already, because Interactions hold each pair once.

        An edge weighs 1, or its rating with `weighted`, times ½ for every `half_life_days` before the latest time. Each
        item is joined to the `item_edges` others with which it shares most users for its size; 0 joins none.
        """
        user_items = Edges(data.indptr, data.indices, edge_weights(data, weighted, half_life_days))
        order = None if data.time is None else ranks_in_rows(data, data.time)
        item_users = user_items.reversed(data.num_items)
        return cls(user_items, item_users, co_occurrence(user_items, item_users, item_edges), order)


def edge_weights(data: Interactions, weighted: bool, half_life_days: float | None) -> np.ndarray | None:
    """Return one weight per interaction, rating · ½^(age / half-life), or None where all are 1."""
    weights = None
    if weighted:
        if data.rating is None:
            raise ValueError("weighted must be False where data has no rating, got True")
        if data.nnz and data.rating.min() < 0:
            raise ValueError(f"rating must be >= 0 to count as a weight, got {data.rating.min()}")
        weights = data.rating
    if half_life_days is not None:
        check_real("half_life_days", half_life_days, above=0)
        if data.time is None:
            raise ValueError(f"half_life_days must be None where data has no times, got {half_life_days}")
        age = (data.time.max(initial=0) - data.time) / SECONDS_PER_DAY
        decay = np.exp2(-np.minimum(age / half_life_days, 60)).astype(np.float32)  # 2⁻⁶⁰ is never drawn anyway
        weights = decay if weights is None else weights * decay
    return weights


def co_occurrence(user_items: Edges, item_users: Edges, count: int) -> Edges:
    """Return the `count` items that are nearest to each item by cosine, c_ij / √(n_i n_j), c_ij their common users.

    Items without common users are never joined; among equals the smaller number is nearer.
    """
    num_items = len(item_users.indptr) - 1
    if check_int("item_edges", count, at_least=0) == 0:
        return Edges(np.zeros(num_items + 1, dtype=np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    chosen = np.empty((num_items, count), dtype=np.int32)
    cosines = np.empty((num_items, count), dtype=np.float32)
    nearest_items(user_items.indptr, user_items.indices, item_users.indptr, item_users.indices, count, chosen, cosines)
    is_joined = chosen >= 0
    indptr = np.concatenate([[0], np.cumsum(is_joined.sum(axis=1))])
    return Edges(indptr, chosen[is_joined], cosines[is_joined])
