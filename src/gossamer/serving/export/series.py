"""Series as inputs of a graph, and what the emissions of a semi-Markov model make of them: densities and M-steps.

Letters: B series, T steps, K states, D dimensions or categories. Inside, time is the first axis, as loops want it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.models.markov.emissions import Prior
from gossamer.models.markov.neural.neural_em import NeuralEM
from gossamer.models.markov.step import EMISSION
from gossamer.serving.export.graph import Graph, Value

Parameters = dict[str, Value]
EXPECTED = {"gaussian": "means", "poisson": "rates", "categorical": "probs", "multinomial": "probs"}


@dataclass(frozen=True)
class SeriesGraph:
    """Values (T, B, D), 0 where missing, which were seen (T, B, D), which steps there are (T, B), features (B, F + 1).

    Categories are rows with a single 1, so that both kinds of probabilities are the same arithmetic.
    """

    graph: Graph
    emission: str
    values: Value
    seen: Value
    is_there: Value
    lengths: Value
    features: Value

    @property
    def expected(self) -> str:
        """The parameter that is the expected observation of a state."""
        return EMISSION + EXPECTED[self.emission]

    def log_density(self, parameters: Parameters) -> Value:
        """Return log p(x_t | k) (T, B, K) up to what all states share; what is missing says nothing."""
        if self.emission == "gaussian":
            means, variances = parameters[f"{EMISSION}means"], parameters[f"{EMISSION}variances"]
            centred = self.values.add_axis(2) - means
            squares = centred * centred / variances + variances.apply("Log")
            return (squares * self.seen.add_axis(2)).sum(3) * -0.5
        if self.emission == "poisson":
            rates = parameters[f"{EMISSION}rates"]
            return self._dot(self.values, rates.apply("Log")) - self._dot(self.seen, rates)
        return self._dot(self.values, parameters[f"{EMISSION}probs"].apply("Log"))

    def maximise(self, states: Value, parameters: Parameters, prior: Prior) -> Parameters:
        """Return the emission parameters that fit P(state) of every step (T, B, K) best, given the prior."""
        weights = self._sums(states, self.seen)
        sums = self._sums(states, self.values)
        if self.emission == "gaussian":
            return self._gaussian(states, weights, sums, parameters, prior)
        if self.emission == "poisson":
            name, believed = f"{EMISSION}rates", prior.pseudo_count * _moment(prior.centre)
            weights = weights + prior.pseudo_count
            rates = (sums + believed) / weights.at_least(1e-10)
            return {name: self.graph.where(weights > 1e-10, rates, parameters[name])}
        name = f"{EMISSION}probs"
        return {name: dirichlet_mode(self.graph, sums + prior.pseudo_count, parameters[name])}

    def _gaussian(self, states: Value, weights: Value, sums: Value, parameters: Parameters, prior: Prior) -> Parameters:
        graph, variance = self.graph, _moment(prior.variance)
        is_known = weights > 1e-10
        found = sums / graph.where(is_known, weights, 1.0)
        centred = (self.values.add_axis(2) - found) * self.seen.add_axis(2)
        scatter = (centred * centred * states.add_axis(3)).sum(0)
        spread = (scatter + prior.variance_weight * variance) / (weights + prior.variance_weight).at_least(1e-10)
        if prior.variance_weight == 0:
            spread = graph.where(is_known, spread, variance)
        means = graph.where(is_known, found, parameters[f"{EMISSION}means"])
        return {f"{EMISSION}means": means, f"{EMISSION}variances": spread.at_least(prior.variance_floor * variance)}

    def _dot(self, rows: Value, table: Value) -> Value:
        """Return rows (T, B, D) times each series' table (B, K, D): (T, B, K)."""
        return (rows.add_axis(2) * table).sum(3)

    def _sums(self, states: Value, rows: Value) -> Value:
        """Return Σ_t P(k at t) · rows_t, (B, K, D)."""
        return (states.add_axis(3) * rows.add_axis(2)).sum(0)


def read_series(graph: Graph, model: NeuralEM) -> SeriesGraph:
    """Add the inputs: observations, how many steps of each series they are, and features where the model has some.

    A missing value is NaN, a missing category -1; what stands beyond the end of a series does not count.
    """
    size = model.n_features_in_
    if model.emission == "categorical":
        given = graph.op("Transpose", graph.input("observations", np.int64, "batch", "length"), perm=[1, 0])
        values = graph.op("Equal", given.add_axis(2), np.arange(size)).cast(np.float64)
        seen = values.sum(2, keep=True)
    else:
        matrix = graph.input("observations", np.float32, "batch", "length", size)
        given = graph.op("Transpose", matrix, perm=[1, 0, 2])
        is_missing = given.apply("IsNaN")
        seen = graph.op("Not", is_missing).cast(np.float64)
        values = graph.where(is_missing, np.float32(0), given).cast(np.float64)
    lengths = graph.input("lengths", np.int64, "batch")
    step = graph.range(given.length(0)).add_axis(1)
    is_there = (step < lengths).cast(np.float64)
    one = lengths.cast(np.float32).add_axis(1) * np.float32(0) + np.float32(1)
    features = one
    if model.feature_dim_:
        features = graph.join(graph.input("features", np.float32, "batch", model.feature_dim_), one)
    return SeriesGraph(graph, model.emission, values, seen, is_there, lengths, features)


def dirichlet_mode(graph: Graph, counts: Value, previous: Value) -> Value:
    """Return probabilities along the last axis from counts; where there is nothing at all, the previous ones."""
    total = counts.sum(-1, keep=True)
    return graph.where(total > 0.0, counts / graph.where(total > 0.0, total, 1.0), previous)


def _moment(value: object) -> np.ndarray:
    """Return what a prior took from the training data, as an array of double precision."""
    return np.asarray(value, dtype=np.float64)
