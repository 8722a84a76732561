"""Graphs of the sentence models: words through a GRU into codes, or into classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import nn

from gossamer.models.spikeslab.codes import Codes, GaussianCodes
from gossamer.models.spikeslab.gates import LARGEST, SMALLEST, BalancedScores, balanced_off_logit
from gossamer.models.spikeslab.hierarchical import LEAST_CONCENTRATION, SIZE_POWER, HierarchicalCodes
from gossamer.models.spikeslab.module import GRUEncoder, WordVectors
from gossamer.models.spikeslab.probe_network import DenseLayers, SimpleClassifier
from gossamer.models.spikeslab.rivals import MatCodes, SparseCodingCodes
from gossamer.models.spikeslab.sentence_probe import SentenceProbe
from gossamer.models.spikeslab.sentence_vae import SentenceVAE
from gossamer.serving.export.graph import Graph, Value
from gossamer.serving.export.layers import run_module
from gossamer.serving.export.ordering import ranks
from gossamer.serving.export.tables import GraphTable
from gossamer.serving.export.words import pad_words, read_words


def draw_graph(model: Any) -> Graph:
    """Return the graph of a fitted sentence model."""
    if isinstance(model, SentenceProbe):
        return _class_graph(model)
    assert isinstance(model, SentenceVAE)
    refined = ", without its refinement, which is a search" if model.refine_steps else ""
    graph = Graph(f"transform, kind='mean' as codes and kind='sparse' as sparse_codes{refined}")
    network = model.network_
    features = _features(graph, network.vectors, network.encoder, model.max_length)
    mean, slab_mean, off_probs = _describe(graph, network.codes, features)
    num_dims = network.codes.latent_dim
    graph.output("codes", mean, np.float32, "batch", num_dims)
    count = (1.0 - off_probs).sum(1, keep=True).apply("Round")
    rank = ranks(graph, off_probs, num_dims, largest_first=False).cast(np.float32)
    graph.output("sparse_codes", graph.where(rank < count, slab_mean, np.float32(0)), np.float32, "batch", num_dims)
    return graph


def _class_graph(model: SentenceProbe) -> Graph:
    network, max_length = model.network_, model.vae_.max_length
    if isinstance(network, SimpleClassifier):
        graph = Graph("predict_probs: the probability of every class of a sentence")
        read = _features(graph, network.vectors, network.encoder, max_length)
        name = "probs"
    else:
        graph = Graph(
            "the probability of every class given a sentence's mean code; predict_probs averages over draws of codes, "
            "which no graph repeats"
        )
        codes = network.network
        features = _features(graph, codes.vectors, codes.encoder, max_length)
        read, _, _ = _describe(graph, codes.codes, features)
        graph.output("codes", read, np.float32, "batch", codes.codes.latent_dim)
        name = "probs_of_mean"
    graph.output(name, _classes(graph, network.probe, read), np.float32, "batch", len(model.label_names_))
    return graph


def _classes(graph: Graph, probe: DenseLayers, read: Value) -> Value:
    *layers, last = probe.layers
    for layer in layers:
        read = graph.linear(layer, read).apply("LeakyRelu", alpha=0.01)
    return graph.linear(last, read).apply("Softmax", axis=1)


def _features(graph: Graph, vectors: WordVectors, encoder: nn.Module, max_length: int) -> Value:
    """Return the state of the encoder's GRU after the end mark of each sentence."""
    if not isinstance(encoder, GRUEncoder):
        raise ValueError(
            f"the encoder must be the model's own GRU to be exported, got {type(encoder).__name__}; "
            "a pretrained encoder is exported by the tools it came with"
        )
    words = read_words(graph, max_length)
    padded = pad_words(words, 1)
    looked_up = GraphTable(graph, vectors.table).look_up(padded.at_least(0))
    place = graph.range(padded.length(1)).add_axis(0)
    is_end = graph.op("Equal", place, words.lengths.add_axis(1)).add_axis(2)
    heard = graph.where(is_end, vectors.marks.detach()[0], looked_up)
    lengths = (words.lengths + 1).cast(np.int32)
    return _gru(graph, encoder.recurrent, graph.op("Transpose", heard, perm=[1, 0, 2]), lengths)


def _gru(graph: Graph, recurrent: nn.GRU, steps: Value, lengths: Value) -> Value:
    """Return the last state (B, H) of one layer; ONNX has the gates as update, reset, new, torch reset first."""
    into, onto, into_bias, onto_bias = (value.detach() for value in recurrent.parameters())

    def ordered(rows: torch.Tensor) -> torch.Tensor:
        reset, update, new = rows.chunk(3)
        return torch.cat([update, reset, new])[None]

    biases = torch.cat([ordered(into_bias), ordered(onto_bias)], dim=1)
    results = graph.op_of(
        "GRU",
        2,
        steps,
        ordered(into),
        ordered(onto),
        biases,
        lengths,
        hidden_size=recurrent.hidden_size,
        linear_before_reset=1,
    )
    return results[1].drop_axis(0)


def _describe(graph: Graph, codes: Codes, features: Value) -> tuple[Value, Value, Value]:
    """Return `Codes.describe`: the mean, what it is where it is on, and the probability of being off."""
    width = codes.latent_dim
    if isinstance(codes, HierarchicalCodes):
        raw = run_module(graph, codes.gate_head, features)
        if codes.balance is None:
            alpha, beta = _concentrations(raw.part(0, width)), _concentrations(raw.part(width, 2 * width))
            off = alpha / (alpha + beta)
            slab = run_module(graph, codes.slab_head, graph.join(features, off - np.float32(0.5))).part(0, width)
        else:
            slab = run_module(graph, codes.slab_head, features).part(0, width)
            off = _balanced_off_probs(codes, codes.balance, slab, raw)
        return (1.0 - off) * slab, slab, off
    if isinstance(codes, SparseCodingCodes):
        slab = run_module(graph, codes.slab_head, features).part(0, width)
        slab = slab * np.float32(codes.slab_share.item())
        off = run_module(graph, codes.gate_head, features).apply("Sigmoid")
        return (1.0 - off) * slab, slab, off
    assert isinstance(codes, GaussianCodes | MatCodes)
    mean = run_module(graph, codes.head, features).part(0, width)
    if isinstance(codes, GaussianCodes):
        return mean, mean, mean * np.float32(0)
    # log N(μ; 0, s²) - log N(μ; 0, 1) = -log s - μ² (1/s² - 1) / 2
    steepness = (codes.spike_scale**-2 - 1) / 2
    logit = np.float32(codes.off_logit - math.log(codes.spike_scale)) - mean * mean * np.float32(steepness)
    return mean, mean, logit.apply("Sigmoid")


def _balanced_off_probs(codes: HierarchicalCodes, balance: BalancedScores, slab: Value, raw: Value) -> Value:
    """Return E[γ] from means of slabs and what the head of the gates says: `HierarchicalCodes.gates`, in evaluation."""
    width, norm = codes.latent_dim, balance.over_sentences
    assert norm.running_mean is not None
    assert norm.running_var is not None
    size = slab.graph.op("Pow", slab.apply("Abs"), np.float32(SIZE_POWER))
    scores = (-size - norm.running_mean.numpy()) / (norm.running_var + norm.eps).sqrt().numpy()
    centred = scores - scores.sum(1, keep=True) / np.float32(width)
    deviation = ((centred * centred).sum(1, keep=True) / np.float32(width) + np.float32(norm.eps)).apply("Sqrt")
    shift = balanced_off_logit(torch.zeros(1), codes.log_alpha - codes.log_beta, codes.decisiveness).item()
    logit = np.float32(shift) + np.float32(codes.decisiveness) * (centred / deviation)
    total = _concentrations(raw) + np.float32(LEAST_CONCENTRATION)
    alpha, beta = (total * side.apply("Sigmoid") for side in (logit, -logit))
    alpha, beta = alpha.at_least(np.float32(SMALLEST)), beta.at_least(np.float32(SMALLEST))
    return alpha / (alpha + beta)


def _concentrations(raw: Value) -> Value:
    return (raw.apply("Softplus") + np.float32(SMALLEST)).at_most(np.float32(LARGEST))
