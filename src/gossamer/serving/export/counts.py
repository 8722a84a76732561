"""Graphs of the count models: encoders of sparse rows, and the scores of all terms or items."""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer.models.counts.autoencoder import DenoisingAutoencoder
from gossamer.models.counts.count_model import CountModel
from gossamer.models.counts.inputs import InputFeatures
from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.network_ranker import NetworkRanker
from gossamer.models.counts.unigram import Unigram
from gossamer.serving.export.graph import Graph, Value
from gossamer.serving.export.histories import Histories, put_scores, read_histories
from gossamer.serving.export.layers import activate

AMORTISED = "with the encoder's posterior: refinement is a search that no graph holds"


def draw_graph(model: Any) -> Graph:
    """Return the graph of a fitted count model."""
    if isinstance(model, CountModel):
        return _document_graph(model)
    if isinstance(model, Unigram):
        return _unigram_graph(model)
    assert isinstance(model, NetworkRanker)
    is_refined = getattr(model, "scoring", "amortised") != "amortised"
    what = f"scoring='amortised', {AMORTISED}" if is_refined else "what is seen not left out"
    graph = Graph(f"recommend: the score of every item for a history, {what}")
    histories = read_histories(graph, weighted=False)
    inputs = _features(graph, histories, model.features_)
    if isinstance(model.network_, DenoisingAutoencoder):
        scores = _denoise(graph, histories, inputs, model.network_, model.activation)
    else:
        network: Any = model.network_
        scores = _log_probs(graph, network.decoder, _encode(graph, histories, inputs, network.encoder))
    put_scores(graph, histories, scores, model.popularity_)
    return graph


def _unigram_graph(model: Unigram) -> Graph:
    """Return log p(document) = Σ count · log p(term): what `evaluate` makes perplexities of."""
    graph = Graph("evaluate: the log-likelihood of a document, from which perplexities are, and of every single term")
    histories = read_histories(graph, "terms")
    log_probs = np.log(model.probs_.astype(np.float64)).astype(np.float32)
    graph.output("log_likelihood", histories.pooled(log_probs[:, None]).drop_axis(1), np.float32, "batch")
    everybody = graph.op("Expand", log_probs[None], graph.join(histories.ids.length(0), np.array([1]), axis=0))
    graph.output("scores", everybody, np.float32, "batch", len(model.terms_))
    return graph


def _document_graph(model: CountModel) -> Graph:
    encoder = model.network_.encoder
    if encoder is None:
        raise ValueError(
            "inference must be one with an encoder to be exported, got 'svi': its codes are found by a search"
        )
    graph = Graph(f"transform and recommend with refine=False, {AMORTISED}")
    histories = read_histories(graph, "terms")
    codes = _encode(graph, histories, _features(graph, histories, model.features_), encoder)
    decoder = model.network_.decoder
    graph.output("codes", codes, np.float32, "batch", decoder.latent_dim)
    graph.output("scores", _log_probs(graph, decoder, codes), np.float32, "batch", len(model.terms_))
    return graph


def _features(graph: Graph, histories: Histories, features: InputFeatures) -> Value:
    """Return what `InputFeatures.values` says of every count."""
    values = histories.values
    if features.idf is not None:
        values = values * graph.gather(features.idf, histories.ids)
    if features.kind == "norm":
        sums = values.sum(1, keep=True)
        values = values / graph.where(sums > 0.0, sums, np.float32(1))
    elif features.kind != "counts":
        norms = (values * values).sum(1, keep=True).apply("Sqrt")
        values = values / graph.where(norms > 0.0, norms, np.float32(1))
    return values * np.float32(features.scale)


def _encode(graph: Graph, histories: Histories, inputs: Value, encoder: Encoder) -> Value:
    """Return the posterior's mean, zero for a row without counts."""
    hidden = histories.pooled(encoder.input_layer.weight, inputs) + encoder.input_layer.bias
    for layer in encoder.layers:
        hidden = graph.linear(layer, activate(hidden, encoder.activation))
    last: Any = encoder.layers[-1]
    return hidden.part(0, last.out_features // 2) * (histories.counts > 0.0).cast(np.float32)


def _log_probs(graph: Graph, decoder: Decoder, codes: Value) -> Value:
    for layer in decoder.layers:
        codes = activate(graph.linear(layer, codes), decoder.activation)
    return (codes @ decoder.weight.detach().T + decoder.bias).apply("LogSoftmax", axis=1)


def _denoise(
    graph: Graph, histories: Histories, inputs: Value, network: DenoisingAutoencoder, activation: str
) -> Value:
    hidden = histories.pooled(network.input_layer.weight, inputs) + network.input_layer.bias + network.stranger
    return graph.linear(network.output_layer, activate(hidden, activation))
