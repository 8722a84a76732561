"""NeuralEM as a graph: features and observations of series in, their phases and what comes next out.

The network's calls and its EM iterations are drawn one after the other, as `NeuralEMNetwork.forward` makes them; an
iteration is the E-step of `semi_markov` and the M-step here. The network is in single precision, as it is in torch, and
what EM does in double.
"""

from __future__ import annotations

import numpy as np

from gossamer.models.markov.neural.arguments import unrolled_of
from gossamer.models.markov.neural.layout import POSITIVE, REAL, SIMPLEX, SMALLEST, Entry, Layout
from gossamer.models.markov.neural.network import STRENGTH_UNIT, NeuralEMNetwork, Problem
from gossamer.models.markov.neural.neural_em import NeuralEM
from gossamer.serving.export.graph import Graph, Value
from gossamer.serving.export.semi_markov import Chain, expect, make_chain, next_states
from gossamer.serving.export.series import SeriesGraph, dirichlet_mode, read_series

Parameters = dict[str, Value]
NOT_DRAWN = {
    "em": "it ends when no series of the data gets better",
    "oracle": "it looks the true parameters of a planted data set up",
}


def draw_neural_em(model: NeuralEM) -> Graph:
    """Return the graph of a fitted NeuralEM: predict_proba and next_observation of whole series."""
    if model.method in NOT_DRAWN:
        raise ValueError(
            f"method must be another to be exported, got {model.method!r}: {NOT_DRAWN[model.method]}; "
            "ask for predict or next_observation where gossamer is installed"
        )
    graph = Graph(
        "predict_proba as `state_probs` and next_observation as `next_states` and `expected`, of series that are given "
        "whole: `lengths` says how many steps each has",
        real=np.float64,
    )
    series = read_series(graph, model)
    problem = model._problem()
    if model.network_ is None:
        nothing = series.lengths.cast(np.float64) * 0.0
        parameters = {name: nothing.add_axis(*range(1, value.ndim)) + value for name, value in model.start_.items()}
    else:
        vectors = _run_network(graph, model, model.network_, series, problem)
        parameters = unpack(graph, problem.layout, vectors)
    chain = _chain(graph, parameters, problem)
    found = expect(graph, chain, series.log_density(parameters), series.is_there, problem.longest)
    following = next_states(chain, found.last)
    by_series = graph.op("Transpose", found.states, perm=[1, 0, 2])
    num_states = model.num_states
    graph.output("state_probs", by_series.cast(np.float32), np.float32, "batch", "length", num_states)
    graph.output("next_states", following.cast(np.float32), np.float32, "batch", num_states)
    expected = (following.add_axis(1) @ parameters[series.expected]).drop_axis(1)
    graph.output("expected", expected.cast(np.float32), np.float32, "batch", model.n_features_in_)
    return graph


def _run_network(
    graph: Graph, model: NeuralEM, network: NeuralEMNetwork, series: SeriesGraph, problem: Problem
) -> Value:
    """Return the vectors (B, M) of parameters, as `NeuralEMNetwork.forward` does."""
    unrolled, layout = unrolled_of(model), problem.layout
    start = network.start.detach()
    scaled = (series.features - network.feature_mean) / network.feature_scale
    nothing = series.lengths.cast(np.float32).add_axis(1) * np.float32(0)
    latent = nothing + np.zeros(network.latent_dim, np.float32)
    own, latent = _call(graph, network, scaled, latent, nothing + np.zeros(len(start), np.float32))
    vectors = own
    for layer in range(unrolled.num_layers):
        moved, counts = _improve(graph, vectors, series, problem)
        is_last = layer == unrolled.num_layers - 1
        if not unrolled.is_between or (is_last and unrolled.final == "em"):
            vectors = moved
            continue
        spread = _spread(graph, layout, counts)
        weight = spread / (spread + (STRENGTH_UNIT * network.strength.detach().double()).exp())
        seen = (weight * (moved - start.double())).cast(np.float32)
        own, latent = _call(graph, network, scaled, latent, seen)
        vectors = own + weight * (moved - own) if unrolled.is_mixed else own
    return vectors


def _call(graph: Graph, network: NeuralEMNetwork, scaled: Value, latent: Value, moved: Value) -> tuple[Value, Value]:
    hidden = graph.linear(network.read, graph.join(scaled, latent, moved)).apply("Relu")
    written = graph.linear(network.write, graph.linear(network.think, hidden).apply("Relu"))
    size = len(network.start)
    own = graph.linear(network.direct, scaled) + written.part(0, size) + network.start
    return own.cast(np.float64), written.part(size, size + network.latent_dim).apply("Tanh")


def _improve(graph: Graph, vectors: Value, series: SeriesGraph, problem: Problem) -> tuple[Value, Value]:
    """Return the vectors after an EM iteration on each series, and the expected steps in each state (B, K)."""
    parameters, prior = unpack(graph, problem.layout, vectors), problem.prior
    chain = _chain(graph, parameters, problem)
    found = expect(graph, chain, series.log_density(parameters), series.is_there, problem.longest)
    others = prior.pseudo_count * (1 - np.eye(problem.layout.num_states))
    lasted = (found.duration * np.arange(problem.longest, dtype=np.float64)).sum(2)
    segments = found.duration.sum(2) + prior.pseudo_count
    improved: Parameters = {
        "initial": dirichlet_mode(graph, found.initial + prior.pseudo_count, parameters["initial"]),
        "transition": dirichlet_mode(graph, found.transition + others, parameters["transition"]),
        "duration.rates": (lasted + prior.pseudo_count * problem.usual_rate) / segments.at_least(1e-10),
        **series.maximise(found.states, parameters, prior),
    }
    return pack(graph, problem.layout, improved), found.states.sum(0)


def _chain(graph: Graph, parameters: Parameters, problem: Problem) -> Chain:
    return make_chain(
        graph, parameters["initial"], parameters["transition"], parameters["duration.rates"], problem.longest
    )


def _without_diagonal(num_states: int) -> np.ndarray:
    """Return the matrix (K², K(K - 1)) that leaves out, and transposed puts in, moves of a state to itself."""
    kept: np.ndarray = np.eye(num_states**2)[:, ~np.eye(num_states, dtype=bool).ravel()]
    return kept


def unpack(graph: Graph, layout: Layout, vectors: Value) -> Parameters:
    """Return the parameters of vectors (B, M): `Layout.unpack`."""
    parameters, begin = {}, 0
    for entry in layout.entries:
        size = int(np.prod(entry.shape))
        value = _constrained(graph, entry, vectors.part(begin, begin + size).reshape(-1, *entry.shape))
        if entry.name == "transition":
            states = layout.num_states
            flat = value.reshape(-1, size) @ _without_diagonal(states).T
            value = flat.reshape(-1, states, states)
        parameters[entry.name] = value
        begin += size
    return parameters


def pack(graph: Graph, layout: Layout, parameters: Parameters) -> Value:
    """Return the vectors (B, M) of parameters: `Layout.pack`."""
    parts = []
    for entry in layout.entries:
        value, size = parameters[entry.name], int(np.prod(entry.shape))
        if entry.name == "transition":
            states = layout.num_states
            value = (value.reshape(-1, states**2) @ _without_diagonal(states)).reshape(-1, *entry.shape)
        parts.append(_unconstrained(entry, value).reshape(-1, size))
    return graph.join(*parts, axis=1)


def _constrained(graph: Graph, entry: Entry, part: Value) -> Value:
    centre, scale = entry.centre.numpy(), entry.scale.numpy()
    if entry.kind == REAL:
        return part * scale + centre
    # log(1 + eˣ), from the side that does not overflow.
    raised = graph.op("Max", part, 0.0) + ((-part.apply("Abs")).apply("Exp") + 1.0).apply("Log") + SMALLEST
    if entry.kind == POSITIVE:
        return raised * scale
    assert entry.kind == SIMPLEX
    return raised / raised.sum(-1, keep=True)


def _unconstrained(entry: Entry, value: Value) -> Value:
    centre, scale = entry.centre.numpy(), entry.scale.numpy()
    if entry.kind == REAL:
        return (value - centre) / scale
    raised = value / scale if entry.kind == POSITIVE else value * float(entry.shape[-1])
    y = (raised - SMALLEST).at_least(SMALLEST)
    return y + (1.0 - (-y).apply("Exp")).apply("Log")


def _spread(graph: Graph, layout: Layout, counts: Value) -> Value:
    """Return for every element of the vector how many observations speak of it: `Layout.spread`."""
    whole = np.zeros((layout.num_states, layout.size))
    begin = 0
    for entry in layout.entries:
        size = int(np.prod(entry.shape))
        of_state = np.repeat(np.arange(layout.num_states), size // layout.num_states)
        speaks = np.equal.outer(np.arange(layout.num_states), of_state)
        whole[:, begin : begin + size] = 1.0 if entry.name == "initial" else speaks
        begin += size
    return graph.op("MatMul", counts, whole)
