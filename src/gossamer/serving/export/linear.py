"""Graphs of the linear models: item-to-item weights, ALS with its fold-in, biased MF, popularity."""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer.models.linear.als import ALS, FOLD_IN_STEPS
from gossamer.models.linear.biased_mf import BiasedMF
from gossamer.models.linear.item_to_item import ItemToItem
from gossamer.models.linear.popularity import Popularity
from gossamer.serving.export.graph import Graph, Operand, Value
from gossamer.serving.export.histories import Histories, put_scores, read_histories, score_by_pairs

ENOUGH = 1e-12  # of the squared length of b: where the library's own conjugate gradients stop


def draw_graph(model: Any) -> Graph:
    """Return the graph of a fitted linear model."""
    if isinstance(model, BiasedMF):
        graph = Graph("predict: the rating of a user and an item; -1 is somebody or something unknown")
        mean = np.float32(model.mean_)
        users, items = _known_rows(graph, "users", model.user_rows_), _known_rows(graph, "items", model.item_rows_)
        bias = users.part(0, 1) + items.part(0, 1)
        width = model.user_rows_.shape[1]
        matched = (users.part(1, width) * items.part(1, width)).sum(1, keep=True) if width > 1 else np.float32(0)
        graph.output("ratings", (bias + matched + mean).drop_axis(1), np.float32, "batch")
        return graph
    graph = Graph("recommend: the score of every item for a history, what is seen not left out")
    histories = read_histories(graph, weighted=bool(model.weighted))
    if isinstance(model, Popularity):
        scores: Value = histories.counts * np.float32(0) + model.popularity_[None, :]
    elif isinstance(model, ItemToItem):
        scores = score_by_pairs(graph, histories, model.weights_)
    else:
        assert isinstance(model, ALS)
        vectors = fold_in(graph, histories, model)
        graph.output("user_factors", vectors, np.float32, "batch", model.item_factors_.shape[1])
        scores = vectors @ model.item_factors_.T
    put_scores(graph, histories, scores, model.popularity_)
    return graph


def _known_rows(graph: Graph, name: str, table: Operand) -> Value:
    """Add an input of ids (B,) and return their rows, zeros for an id below 0."""
    ids = graph.input(name, np.int64, "batch")
    return graph.gather(table, ids.at_least(0)) * (ids >= 0).cast(np.float32).add_axis(1)


def fold_in(graph: Graph, histories: Histories, model: ALS) -> Value:
    """Return the factors (B, D) that fit histories best, by the conjugate gradients of `linear.kernels`, unrolled.

    A x = b with A = αYᵀY + λ_u I + Σ w y yᵀ and b = Σ w y; ONNX has no operator that solves equations.
    """
    items = model.item_factors_
    gram = np.float32(model.unobserved_weight) * (items.T @ items)
    size = histories.counts + np.float32(model.unobserved_weight * len(items))
    penalty = graph.op("Pow", size, np.float32(model.reg_exponent)) * np.float32(model.regularization)
    taken = graph.gather(items, histories.ids)
    taken_by_factor = graph.op("Transpose", taken, perm=[0, 2, 1])

    def product(v: Value) -> Value:
        matched = (v.add_axis(1) @ taken_by_factor).drop_axis(1) * histories.values
        image: Value = v @ gram + penalty * v + (matched.add_axis(1) @ taken).drop_axis(1)
        return image

    residual = direction = (histories.values.add_axis(1) @ taken).drop_axis(1)
    solution = residual * np.float32(0)
    squared = (residual * residual).sum(1, keep=True)
    enough = squared * np.float32(ENOUGH)
    for _ in range(FOLD_IN_STEPS):
        goes_on = (squared > enough).cast(np.float32)
        moved = product(direction)
        below = (direction * moved).sum(1, keep=True)
        # A row that is done has nothing to divide by: its step is 0.
        length = goes_on * squared / graph.where(below > 0.0, below, np.float32(1))
        solution, residual = solution + length * direction, residual - length * moved
        before, squared = squared, (residual * residual).sum(1, keep=True)
        direction = residual + squared / graph.where(before > 0.0, before, np.float32(1)) * direction
    return solution
