"""Graphs of the compressed networks: images or rows to classes, and the next word."""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer.models.lowrank.classifier import CompressedClassifier
from gossamer.models.lowrank.images import CONTRAST, Preparation
from gossamer.models.lowrank.language_model import CompressedLanguageModel
from gossamer.serving.export.graph import Graph, Value
from gossamer.serving.export.language import draw_language_step
from gossamer.serving.export.layers import run_module


def draw_graph(model: Any) -> Graph:
    """Return the graph of a fitted compressed network; split layers stay split."""
    if isinstance(model, CompressedLanguageModel):
        return draw_language_step(model.network_, len(model.words_))
    assert isinstance(model, CompressedClassifier)
    graph = Graph("predict_proba: the probability of every class of raw inputs")
    inputs = graph.input("features", np.float32, "batch", *model.shape_)
    logits = run_module(graph, model.network_.eval(), _prepare(graph, inputs, model.preparation_, model.shape_))
    graph.output("probs", logits.apply("Softmax", axis=1), np.float32, "batch", len(model.classes_))
    return graph


def _prepare(graph: Graph, inputs: Value, preparation: Preparation, shape: tuple[int, ...]) -> Value:
    """Return what `Preparation` makes of raw inputs."""
    rows = inputs.reshape(0, int(np.prod(shape)))
    if preparation.kind == "whitened":
        centred = rows - graph.op("ReduceMean", rows, np.array([1]), keepdims=1)
        norms = (centred * centred).sum(1, keep=True).apply("Sqrt").at_least(np.float32(1e-8))
        rows = (centred * np.float32(CONTRAST) / norms - preparation.mean) @ preparation.whitening
    else:
        rows = (rows - preparation.mean) / preparation.scale
    return rows.reshape(-1, *shape)
