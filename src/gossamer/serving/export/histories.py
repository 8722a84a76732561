"""Histories as inputs of a graph: padded lists of ids and of how much of each, and what models do with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gossamer.serving.export.graph import Graph, Operand, Value


@dataclass(frozen=True)
class Histories:
    """B lists of L ids with their values, 0 where there is padding; `is_there` is 1.0 where there is none."""

    ids: Value
    values: Value
    is_there: Value

    @property
    def counts(self) -> Value:
        """How many ids each list has, (B, 1)."""
        return self.is_there.sum(1, keep=True)

    def pooled(self, table: Operand, values: Value | None = None) -> Value:
        """Return Σ_l values · table[ids], (B, D): a gather and a weighted sum, which every runtime has."""
        graph = self.ids.graph
        weights = self.values if values is None else values
        return (weights.add_axis(1) @ graph.gather(table, self.ids)).drop_axis(1)


def read_histories(graph: Graph, ids: str = "items", *, weighted: bool = True) -> Histories:
    """Add the inputs `ids` and "values", both (B, L); an id below 0, or a value of 0, is padding.

    A model that does not weight what it reads takes any other value for 1.
    """
    given = graph.input(ids, np.int64, "batch", "length")
    values = graph.input("values", np.float32, "batch", "length")
    is_there = graph.op("And", given >= 0, graph.op("Not", graph.op("Equal", values, 0.0))).cast(np.float32)
    return Histories(given.at_least(0), values * is_there if weighted else is_there, is_there)


def score_by_pairs(graph: Graph, histories: Histories, weights: np.ndarray | sparse.csr_array) -> Value:
    """Return x @ W (B, M) of item-to-item weights.

    A dense W is gathered by rows. A sparse one becomes two tables (M, n), n the most entries of a row: which items, and
    how much; what they say is added up where it belongs. Whichever takes less is written.
    """
    num_items = weights.shape[1]
    if isinstance(weights, np.ndarray):
        return histories.pooled(weights)
    most = max(1, int(np.diff(weights.indptr).max(initial=0)))
    if 2 * most >= num_items:
        return histories.pooled(weights.toarray())
    row = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    place = np.arange(weights.nnz) - weights.indptr[row]
    targets, votes = np.zeros((num_items, most), dtype=np.int32), np.zeros((num_items, most), dtype=np.float32)
    targets[row, place], votes[row, place] = weights.indices, weights.data
    said = graph.gather(votes, histories.ids) * histories.values.add_axis(2)
    where = graph.gather(targets, histories.ids).cast(np.int64)
    batch = histories.ids.length(0)
    nothing = graph.op("Expand", np.float32(0), graph.join(batch, np.array([num_items]), axis=0))
    return graph.op(
        "ScatterElements",
        nothing,
        where.apply("Flatten", axis=1),
        said.apply("Flatten", axis=1),
        axis=1,
        reduction="add",
    )


def put_scores(graph: Graph, histories: Histories, scores: Value, popularity: np.ndarray) -> None:
    """Name the scores as the output; somebody without a history is answered with what is popular, as always."""
    known = histories.counts > 0.0
    graph.output("scores", graph.where(known, scores, popularity[None, :]), np.float32, "batch", len(popularity))
