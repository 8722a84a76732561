"""Graphs of the discrete family: codes with a hard limit, labels and counts of rows of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from gossamer.models.discrete.count_regressor import SparseCountRegressor
from gossamer.models.discrete.count_regressor_network import TINY, ConvEncoder
from gossamer.models.discrete.discrete_model import DiscreteModel
from gossamer.models.discrete.label_classifier import SparseLabelClassifier
from gossamer.models.discrete.label_data import Scaler
from gossamer.models.discrete.label_functional import MAX_RATE, RELAXED
from gossamer.models.discrete.label_knn import MLkNN
from gossamer.models.discrete.label_linear import LinearLabelClassifier
from gossamer.models.discrete.label_model import LabelModel
from gossamer.models.discrete.label_network import SeparateLinear
from gossamer.models.discrete.observations import BinaryObservation, RealObservation
from gossamer.models.discrete.rows import THRESHOLD
from gossamer.models.discrete.shared import SharedLatent
from gossamer.models.discrete.slots import SlotLatent
from gossamer.serving.export.graph import Graph, Value
from gossamer.serving.export.layers import activate, group_norm, run_module
from gossamer.serving.export.ordering import ranks, sparsemax


def draw_graph(model: Any) -> Graph:
    """Return the graph of a fitted model of rows."""
    if isinstance(model, DiscreteModel):
        return _code_graph(model)
    if isinstance(model, LabelModel):
        return _label_graph(model)
    if not isinstance(model, SparseCountRegressor):
        raise ValueError(
            f"{type(model).__name__} has nothing to export: it is an index to search in; "
            "export the model that made its codes"
        )
    graph = Graph("predict and predict_counts: expected and whole counts of every class")
    inputs = _scaled(graph.input("features", np.float32, "batch", model.n_features_in_), model.scaler_)
    network: Any = model.network_
    num_classes = len(model.classes_names_)
    if isinstance(network, ConvEncoder):
        encoded = _places(graph, network, inputs, num_classes)
    else:
        encoded = _dense(graph, network, inputs)
    expected = encoded.part(num_classes, num_classes + 1).apply("Sigmoid") * np.float32(model.max_active_)
    expected = expected * encoded.part(0, num_classes).apply("Softmax", axis=1)
    graph.output("expected", expected, np.float32, "batch", num_classes)
    whole = _shared_counts(graph, encoded, num_classes, model.max_active_)
    graph.output("counts", whole.cast(np.int64), np.int64, "batch", num_classes)
    return graph


def _code_graph(model: DiscreteModel) -> Graph:
    graph = Graph("transform: the likeliest code of each row")
    if model.observation == "binary" and model.binarisation == "dynamic":
        graph.answers += ", of rows that the caller has drawn as zeros and ones (binarisation='dynamic')"
    x = graph.input("features", np.float32, "batch", model.n_features_in_)
    network = model.network_
    if model.observation == "binary" and model.binarisation == "threshold":
        x = (x > np.float32(THRESHOLD)).cast(np.float32)
    inputs = _observed(network.observation, x)
    encoded = run_module(graph, network.encoder, inputs)
    if network.gates is not None:
        encoded = graph.join(encoded, run_module(graph, network.gates, inputs))
    latent = network.latent
    if isinstance(latent, SharedLatent):
        codes = _shared_counts(graph, encoded, latent.num_features, latent.max_active)
    else:
        assert isinstance(latent, SlotLatent)
        codes = _slot_codes(graph, encoded, latent)
    graph.output("codes", codes, np.float32, "batch", latent.num_features)
    return graph


def _observed(observation: nn.Module, x: Value) -> Value:
    """Return `Observation.inputs`."""
    if isinstance(observation, BinaryObservation):
        return x - observation.center
    if isinstance(observation, RealObservation):
        return (x - observation.center) / observation.scale
    logs = (x + np.float32(1)).apply("Log")
    norms = (logs * logs).sum(1, keep=True).apply("Sqrt")
    return logs / norms.at_least(np.float32(1e-12))


def _shared_counts(graph: Graph, encoded: Value, num_features: int, max_active: int) -> Value:
    """Return `SharedLatent.likeliest`."""
    gate = encoded.part(num_features, num_features + 1).apply("Sigmoid")
    num_open = (gate * np.float32(max_active)).apply("Round")
    share = num_open * encoded.part(0, num_features).apply("Softmax", axis=1)
    counts = share.apply("Floor")
    left = num_open - counts.sum(1, keep=True)
    rank = ranks(graph, share - counts, num_features, largest_first=True).cast(np.float32)
    return counts + (rank < left).cast(np.float32)


def _slot_codes(graph: Graph, encoded: Value, latent: SlotLatent) -> Value:
    """Return `SlotLatent.likeliest`: one feature of every slot, or none of it."""
    logits = encoded.reshape(0, latent.max_active, latent.num_options)
    if not latent.is_even:
        logits = graph.where(graph.constant(latent.is_absent), np.float32(-1e30), logits)
    choice = logits.apply("ArgMax", axis=2, keepdims=0)
    chosen = graph.op("OneHot", choice, np.array(latent.num_options), np.array([0, 1], np.float32), axis=-1)
    flat = chosen.part(0, latent.option_feature.shape[1]).apply("Flatten", axis=1)
    there = np.flatnonzero(latent.option_feature.flatten().numpy() < latent.num_features)
    return graph.gather(flat, there, axis=1)


def _scaled(inputs: Value, scaler: Scaler) -> Value:
    return (inputs - scaler.mean) * (1 / scaler.scale)  # a constant column has an infinite scale, and becomes 0


def _label_graph(model: LabelModel) -> Graph:
    graph = Graph("predict_proba and predict: the probability of every label, and which are on")
    inputs = _scaled(graph.input("features", np.float32, "batch", model.n_features_in_), model.scaler_)
    num_labels = len(model.labels_)
    if isinstance(model, SparseLabelClassifier):
        probs = _member_probs(graph, model, inputs)
    elif isinstance(model, LinearLabelClassifier):
        probs = _linear_probs(graph, model, inputs)
    else:
        assert isinstance(model, MLkNN)
        probs = _neighbour_probs(graph, model, inputs)
    graph.output("probs", probs, np.float32, "batch", num_labels)
    above = probs - model.thresholds_
    is_on = above > 0.0
    if model.max_active_ < num_labels:
        is_among = ranks(graph, above, num_labels, largest_first=True) < model.max_active_
        is_on = graph.op("And", is_on, is_among)
    graph.output("labels", is_on.cast(np.int64), np.int64, "batch", num_labels)
    return graph


def _member_probs(graph: Graph, model: SparseLabelClassifier, inputs: Value) -> Value:
    chosen = model._with(model.settings_)
    if chosen.squash:
        inputs = inputs.apply("Asinh")
    layers: list[Any] = list(model.network_.encoder.layers)
    hidden = inputs.add_axis(0)
    for layer in layers[:-1]:
        hidden = _member_layer(graph, layer, hidden, is_first=layer is layers[0]).apply("Relu")
    encoded = _member_layer(graph, layers[-1], hidden, is_first=len(layers) == 1)
    width, num_labels, limit = layers[-1].out_dim, len(model.labels_), np.float32(model.max_active_)
    temperature = np.float32(model.temperature_ if chosen.likelihood == RELAXED else 1.0)
    features = (encoded.part(0, width - 1) / temperature).apply("Softmax", axis=2).part(0, num_labels)
    rates = features * (encoded.part(width - 1, width) / temperature).apply("Sigmoid")
    if chosen.likelihood == RELAXED:
        probs = (rates * limit).at_most(np.float32(1))
    else:  # 1 - (1 - a)^L
        probs = 1.0 - graph.op("Pow", 1.0 - rates.at_most(np.float32(MAX_RATE)), limit)
    return graph.op("ReduceMean", probs, np.array([0]), keepdims=0)


def _member_layer(graph: Graph, layer: Any, inputs: Value, *, is_first: bool) -> Value:
    """Return every member's own affine map; the first one's inputs are the same for all."""
    if not isinstance(layer, SeparateLinear):
        together: Value = inputs @ layer.weight + layer.bias
        return together
    outputs = []
    for number, member in enumerate(layer.members):
        place = 0 if is_first else number
        outputs.append(graph.linear(member, inputs.part(place, place + 1, axis=0)))
    return graph.join(*outputs, axis=0)


def _linear_probs(graph: Graph, model: LinearLabelClassifier, inputs: Value) -> Value:
    weights = model.scale_ * model.weights_
    scores: Value = inputs @ weights[:-1] + weights[-1]
    if model.loss == "logistic":
        return scores.apply("Sigmoid")
    if model.loss == "softmax":
        return scores.apply("Softmax", axis=1)
    return sparsemax(graph, scores, len(model.labels_))


def _neighbour_probs(graph: Graph, model: MLkNN, inputs: Value) -> Value:
    rows, k = model.inputs_, model.tables_.shape[2] - 1
    distances = (rows**2).sum(axis=1)[None, :] - inputs @ (2 * rows.T)
    nearest = graph.op_of("TopK", 2, distances, np.array([k]), axis=1, largest=0)[1]
    counts = graph.gather(model.neighbour_labels_.astype(np.float32), nearest).sum(1).cast(np.int64)
    num_labels = len(model.labels_)
    place = counts + np.arange(num_labels)[None, :] * (k + 1)
    off, on = model.tables_ * np.stack([1 - model.prior_, model.prior_])[:, :, None]
    return graph.gather((on / (on + off)).ravel(), place)


def _dense(graph: Graph, network: Any, inputs: Value) -> Value:
    *hidden, last = network.layers
    for layer in hidden:
        inputs = activate(graph.linear(layer, inputs), "relu")
    return graph.linear(last, inputs)


def _places(graph: Graph, network: ConvEncoder, inputs: Value, num_classes: int) -> Value:
    """Return `ConvEncoder.forward`: evidence of each class, added up over an image."""
    hidden = inputs.reshape(-1, 1, *network.image_shape)
    for layer, norm in zip(network.layers, network.norms, strict=True):
        assert isinstance(norm, nn.GroupNorm)
        hidden = group_norm(graph, norm, run_module(graph, layer, hidden)).apply("Relu")
    total = run_module(graph, network.maps, hidden).apply("Softplus").sum(2, 3) + np.float32(TINY)
    classes, nothing = total.part(0, num_classes), total.part(num_classes, num_classes + 1)
    return graph.join(classes.apply("Log"), classes.sum(1, keep=True).apply("Log") - nothing.apply("Log"))
