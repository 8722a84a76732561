"""Graphs of the models over compressed tables: ratings of pairs, classes of texts, the next word."""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer.models.embeddings.ratings.fitted_ratings import FittedRatings
from gossamer.models.embeddings.ratings.rating_model import SparseBiases
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.text.classifier import AnchorTextClassifier
from gossamer.models.embeddings.text.language_model import AnchorLanguageModel
from gossamer.networks.low_rank import LowRankLinear
from gossamer.networks.text_cnn import TextCNN, first_columns
from gossamer.serving.export.graph import Graph, Value
from gossamer.serving.export.language import draw_language_step
from gossamer.serving.export.tables import GraphTable
from gossamer.serving.export.words import pad_words, read_words

NEVER = np.float32(-3e38)


def draw_graph(model: Any) -> Graph:
    """Return the graph of a fitted model of this family."""
    if isinstance(model, FittedRatings):
        return _rating_graph(model)
    if isinstance(model, AnchorLanguageModel):
        return draw_language_step(model.network_, len(model.words_))
    assert isinstance(model, AnchorTextClassifier)
    graph = Graph("predict_probs: the probability of every class of a text")
    network = model.network_
    assert isinstance(network, TextCNN)
    logits = graph.linear(network.output, _strongest(graph, network, model.max_length))
    graph.output("probs", logits.apply("Softmax", axis=1), np.float32, "batch", len(model.label_names_))
    return graph


def _rating_graph(model: FittedRatings) -> Graph:
    graph = Graph("predict: the rating of a user and an item; -1 is somebody or something unknown")
    ratings = model.model_
    sides = [("users", ratings.users, ratings.user_biases), ("items", ratings.items, ratings.item_biases)]
    (users, user_bias), (items, item_bias) = (
        _side(graph, name, table, biases, ratings.shared_biases) for name, table, biases in sides
    )
    found = (users * items).sum(1) + user_bias + item_bias + np.float32(ratings.mean)
    graph.output("ratings", found, np.float32, "batch")
    return graph


def _side(graph: Graph, name: str, table: EmbeddingTable, biases: SparseBiases, is_shared: bool) -> tuple[Value, Value]:
    """Return vectors and biases of an input of ids, zeros for an id below 0."""
    ids = graph.input(name, np.int64, "batch")
    is_known = (ids >= 0).cast(np.float32)
    safe = ids.at_least(0)
    vectors = GraphTable(graph, table).look_up(safe) * is_known.add_axis(1)
    bias = graph.gather(biases.dense(table.num_embeddings), safe) * is_known
    if not is_shared:
        return vectors, bias
    width = table.embedding_dim
    return vectors.part(0, width - 1), bias + vectors.part(width - 1, width).drop_axis(1)


def _strongest(graph: Graph, network: TextCNN, max_length: int) -> Value:
    """Return `TextCNN.features`: convolutions, of which windows count that begin at a word of the text."""
    widest = max(network.filter_sizes)
    words = read_words(graph, max_length)
    padded = pad_words(words, widest)
    is_word = (padded >= 0).cast(np.float32).add_axis(2)
    vectors = GraphTable(graph, network.embedding).look_up(padded.at_least(0)) * is_word
    layer: Any = network.taps
    if isinstance(layer, LowRankLinear):  # split: the first half is one product for all taps
        vectors, layer = graph.linear(layer[0], vectors), layer[1]
    channels = graph.op("Transpose", vectors, perm=[0, 2, 1])
    lengths = words.lengths.at_least(1).add_axis(1, 2)
    found = []
    taps, filters = layer.weight.detach(), network.num_filters
    for first, size in zip(first_columns(network.filter_sizes, filters), network.filter_sizes, strict=True):
        kernel = taps[first : first + size * filters].reshape(size, filters, -1).permute(1, 2, 0)
        windows = graph.op("Conv", channels, kernel, kernel_shape=[size])
        begins = graph.range(windows.length(2)).add_axis(0, 1)
        found.append(graph.where(begins < lengths, windows, NEVER).max(2))
    return (graph.join(*found) + network.filter_bias).apply("Relu")
