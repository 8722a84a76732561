"""One step of a hidden Markov model as a graph: what was believed and an observation in, what is believed now out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gossamer.models.markov.chains import HSMMChain
from gossamer.models.markov.emissions import EMISSIONS
from gossamer.models.markov.forecasting import hazard
from gossamer.models.markov.hsmm import HSMM
from gossamer.models.markov.markov_model import MarkovModel
from gossamer.models.markov.neural.neural_em import NeuralEM
from gossamer.models.markov.step import emission_part
from gossamer.serving.export.graph import Graph, Value
from gossamer.serving.export.neural_em import draw_neural_em

LOWEST = np.float32(-1e30)  # in the place of log 0: a runtime's -inf - -inf is NaN


def draw_graph(model: Any) -> Graph:
    """Return the filter of a fitted HMM or HSMM that all series share, or a NeuralEM, which reads series whole."""
    if isinstance(model, NeuralEM):
        return draw_neural_em(model)
    assert isinstance(model, MarkovModel)
    if not model.tied:
        raise ValueError("tied must be True for a model to be exported, got False: every series has a model of its own")
    is_ages = isinstance(model, HSMM)
    graph = Graph(
        "next_observation, a step at a time: "
        + ("`belief` is P(state, steps in it so far)" if is_ages else "`belief` is P(state)")
        + " after the step before, zeros before the first; `filtered` is the next belief"
    )
    parameters = model._tensors()
    log_density = _log_density(graph, model)
    if is_ages:
        predicted, shape = _predict_ages(graph, model, parameters)
        log_density = log_density.add_axis(2)
    else:
        predicted, shape = _predict_states(graph, parameters)
    axes = range(1, len(shape) + 1)
    log_joint = log_density + predicted.at_least(np.float32(1e-38)).apply("Log")
    log_joint = graph.where(predicted > 0.0, log_joint, LOWEST)
    joint = (log_joint - log_joint.max(*axes, keep=True)).apply("Exp")
    filtered = joint / joint.sum(*axes, keep=True)
    graph.output("filtered", filtered, np.float32, "batch", *shape)
    following = _move(filtered, parameters, model, is_ages)
    graph.output("next_states", following, np.float32, "batch", model.num_states)
    expected = EMISSIONS[model.emission].expected(emission_part(parameters))[0]
    graph.output("expected", following @ expected, np.float32, "batch", expected.shape[1])
    return graph


def _predict_states(graph: Graph, parameters: dict[str, torch.Tensor]) -> tuple[Value, list[int]]:
    initial, transition = parameters["initial"][0], parameters["transition"][0]
    belief = graph.input("belief", np.float32, "batch", len(initial))
    is_first = belief.sum(1, keep=True) < 0.5
    return graph.where(is_first, initial[None], belief @ transition), [len(initial)]


def _durations(model: HSMM, parameters: dict[str, torch.Tensor]) -> torch.Tensor:
    chain = model._fitted_chain()
    assert isinstance(chain, HSMMChain)
    return chain.log_table(parameters).exp()


def _predict_ages(graph: Graph, model: HSMM, parameters: dict[str, torch.Tensor]) -> tuple[Value, list[int]]:
    """Return P(state, age) of the next step: one step older, or the first step of another state."""
    initial, transition = parameters["initial"][0], parameters["transition"][0]
    ending = hazard(_durations(model, parameters))[0]
    num_states, longest = ending.shape
    belief = graph.input("belief", np.float32, "batch", num_states, longest)
    leaving = belief * ending
    older = (belief - leaving).part(0, longest - 1, axis=2)
    is_first = belief.sum(1, 2, keep=True) < 0.5
    begun = graph.where(is_first, initial[None, :, None], (leaving.sum(2) @ transition).add_axis(2))
    return graph.join(begun, older, axis=2), [num_states, longest]


def _move(filtered: Value, parameters: dict[str, torch.Tensor], model: Any, is_ages: bool) -> Value:
    transition = parameters["transition"][0]
    if not is_ages:
        return filtered @ transition
    leaving = filtered * hazard(_durations(model, parameters))[0]
    return filtered.sum(2) - leaving.sum(2) + leaving.sum(2) @ transition


def _log_density(graph: Graph, model: MarkovModel) -> Value:
    """Return log p(observation | state) up to what all states share; a missing value (NaN, or -1) says nothing."""
    parts = {name: value[0].double() for name, value in emission_part(model._tensors()).items()}
    if model.emission == "categorical":
        category = graph.input("observation", np.int64, "batch")
        table = parts["probs"].log().clamp_min(float(LOWEST)).T
        is_seen = (category >= 0).cast(np.float32).add_axis(1)
        return graph.gather(table, category.at_least(0)) * is_seen
    x = graph.input("observation", np.float32, "batch", model.n_features_in_)
    is_missing = x.apply("IsNaN")
    seen = graph.op("Not", is_missing).cast(np.float32)
    values = graph.where(is_missing, np.float32(0), x)
    if model.emission == "gaussian":
        means, precision = parts["means"], 1 / parts["variances"]
        shifted = values.add_axis(1) - means[None]
        squares = shifted * shifted * precision[None] + parts["variances"].log()[None]
        return (squares * seen.add_axis(1)).sum(2) * np.float32(-0.5)
    if model.emission == "gaussian-full":
        factor = torch.linalg.cholesky(parts["covariances"])
        whitening = torch.linalg.inv(factor)
        centred = (values.add_axis(1) - parts["means"][None]).add_axis(3)
        turned = graph.op("MatMul", whitening[None], centred).drop_axis(3)
        log_det = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        is_whole = graph.op("ReduceMin", seen, np.array([1]), keepdims=1)
        distance: Value = (turned * turned).sum(2) + log_det[None]
        return distance * np.float32(-0.5) * is_whole
    if model.emission == "multinomial":
        return values @ parts["probs"].log().clamp_min(float(LOWEST)).T
    rates = parts["rates"]
    return values @ rates.log().clamp_min(float(LOWEST)).T - seen @ rates.T
