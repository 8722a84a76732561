"""Sorting inside a graph."""

from __future__ import annotations

import numpy as np

from gossamer.serving.export.graph import Graph, Value


def ranks(graph: Graph, values: Value, count: int, *, largest_first: bool) -> Value:
    """Return the place (B, K) of each of `count` columns when they are sorted, ties by column; int64."""
    size = np.array([count])
    order = graph.op_of("TopK", 2, values, size, axis=1, largest=int(largest_first))[1]
    return graph.op_of("TopK", 2, order, size, axis=1, largest=0)[1]


def sparsemax(graph: Graph, scores: Value, count: int) -> Value:
    """Return the nearest point of the simplex to every row of scores (Martins and Astudillo 2016)."""
    ordered = graph.op_of("TopK", 2, scores, np.array([count]), axis=1)[0]
    sums = graph.op("CumSum", ordered, np.array(1))
    numbers = np.arange(1, count + 1, dtype=np.float32)[None, :]
    support = (ordered * numbers + 1.0 > sums).cast(np.float32)
    size = support.sum(1, keep=True)
    threshold = ((ordered * support).sum(1, keep=True) - 1.0) / size
    return (scores - threshold).apply("Relu")
