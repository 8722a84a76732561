"""Graphs of the graph recommenders: a user from the items of a history, then the score of every item."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch.nn import functional

from gossamer.models.community.communities import community_basis
from gossamer.models.community.layers import TINY, Aggregator
from gossamer.models.community.lightgcn import LightGCN
from gossamer.models.community.network import CommunityNetwork
from gossamer.models.community.recommender import CommunityRecommender
from gossamer.serving.export.graph import Graph, Operand, Value
from gossamer.serving.export.histories import Histories, put_scores, read_histories


def draw_graph(model: Any) -> Graph:
    """Return the graph of a fitted graph recommender."""
    if isinstance(model, LightGCN):
        return _smoothed_graph(model)
    assert isinstance(model, CommunityRecommender)
    graph = Graph("recommend: the score of every item for a history, of users without features of their own")
    is_weighted = bool(model.weighted) or model.half_life_days is not None
    histories = read_histories(graph, weighted=is_weighted)
    recent = histories.values
    if model.recent_half_life is not None and model.training_users_.order is not None:
        recent = graph.input("recent", np.float32, "batch", "length") * histories.is_there
    network = model.network_
    full = _full_users(graph, network, histories, recent, model.neighbour_vectors_)
    vectors = _user_vectors(graph, network, full)
    graph.output("user_vectors", vectors, np.float32, "batch", model.embedding_dim)
    scores = vectors @ model.item_vectors_.T + model.item_bias_
    if network.widths.hidden_dim:
        items = network.item_hidden(model.item_vectors_).detach()
        hidden = (graph.linear(network.user_hidden, vectors).add_axis(1) + items[None]).apply("Relu")
        scores = scores + hidden @ network.hidden_score.weight.detach()[0]
    put_scores(graph, histories, scores, model.popularity_)
    return graph


def _smoothed_graph(model: LightGCN) -> Graph:
    graph = Graph("recommend: the score of every item for a history and a user of the training data, -1 for others")
    histories = read_histories(graph, weighted=False)
    users = graph.input("users", np.int64, "batch")
    sizes = histories.counts.at_least(np.float32(1)).apply("Sqrt")
    own = graph.gather(model.user_vectors_, users.at_least(0)) * (users >= 0).cast(np.float32).add_axis(1)
    vectors = histories.pooled(model.neighbour_vectors_) / sizes + own
    graph.output("user_vectors", vectors, np.float32, "batch", model.embedding_dim)
    put_scores(graph, histories, vectors @ model.item_vectors_.T, model.popularity_)
    return graph


def _mean(histories: Histories, weights: Value, nodes: Operand) -> Value:
    """Return Σ w h / Σ w over each history, zero for one without items."""
    return histories.pooled(nodes, weights) / weights.sum(1, keep=True).at_least(np.float32(TINY))


def _full_users(graph: Graph, network: CommunityNetwork, histories: Histories, recent: Value, nodes: Operand) -> Value:
    """Return `CommunityNetwork.full_users` of users without features, whose own embedding is zero."""
    width = network.widths.embedding_dim
    nothing = histories.counts * np.zeros((1, width), np.float32)
    said = latest = nothing
    if network.method != "features":
        said = _aggregate(graph, network.history, histories, nodes)
        latest = _mean(histories, recent, nodes) * np.float32(3)
    joined = graph.linear(network.user_layer.joined, graph.join(nothing, said, latest))
    return joined.apply("Tanh") / np.float32(width**0.5)


def _aggregate(graph: Graph, aggregator: Aggregator, histories: Histories, nodes: Any) -> Value:
    """Return `Aggregator.forward` for a node that is zero itself."""
    if aggregator.kind == "max":
        hidden = functional.relu(aggregator.hidden(nodes)).detach()
        given = graph.gather(hidden, histories.ids) * histories.is_there.add_axis(2)
        # One row of zeros more: what is below zero cannot come, and a history may be empty.
        return graph.op("Pad", given, np.array([0, 1]), np.float32(0), np.array([1])).max(1)
    if aggregator.kind == "attention":
        asked = graph.gather(aggregator.score(aggregator.key(nodes).tanh()).detach()[:, 0], histories.ids)
        asked = asked + histories.values.at_least(np.float32(TINY)).apply("Log")
        there = histories.is_there
        shares = graph.where(there > 0.0, asked, np.float32(-1e30)).apply("Softmax", axis=1)
        return _mean(histories, shares * there, nodes)
    size = histories.counts.at_most(np.float32(aggregator.MOST)).apply("Sqrt")
    return _mean(histories, histories.values, nodes) * size


def _user_vectors(graph: Graph, network: CommunityNetwork, full: Value) -> Value:
    """Return `user_vectors(user_parts(full))`."""
    parts = {"full": full}
    if network.has_communities:
        space, basis = network.community_space().detach(), community_basis(network.space).detach()
        within = full @ (basis @ basis.T)
        temperature = np.float32(network.temperature)
        memberships = (_closeness(graph, network, full, space) / temperature).apply("Softmax", axis=1)
        graph.output("memberships", memberships, np.float32, "batch", len(space))
        mixture = memberships @ space
        community = {"mixture": mixture, "projection": within, "both": within + mixture}[network.community_part]
        parts |= {"community": community, "individual": full - within}
    scale = network.log_scale.detach().exp()
    turns: Any = network.parts
    (first, turn), *others = turns.items()
    total: Value = parts[first] @ (turn.weight.detach().T * scale)
    for name, other in others:
        total = total + parts[name] @ (other.weight.detach().T * scale)
    return total


def _closeness(graph: Graph, network: CommunityNetwork, full: Value, space: Any) -> Value:
    if network.distance == "cosine":
        lengths = (full * full).sum(1, keep=True).apply("Sqrt").at_least(np.float32(1e-12))
        return full / lengths @ functional.normalize(space, dim=1).T
    towards = network.community_distance(space).detach()[None]
    hidden = (graph.linear(network.user_distance, full).add_axis(1) + towards).apply("Relu")
    return graph.linear(network.distance_score, hidden).drop_axis(2).apply("Sigmoid")
