"""Series as inputs: what is missing, what lies beyond an end, and the M-step where a state has nothing."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.markov import NeuralEM
from gossamer.serving.export.graph import Graph
from gossamer.serving.export.series import dirichlet_mode, read_series
from gossamer.testing.right_answers import two_phases

onnxruntime = pytest.importorskip("onnxruntime")


def run(graph: Graph, **inputs):
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs), strict=True))


@pytest.fixture(scope="module")
def model():
    settings = {"num_states": 2, "method": "pooled-em", "num_starts": 1, "start_epochs": 2}
    return NeuralEM(**settings).fit(two_phases().train[:2])


def test_missing_values_and_ends(model):
    graph = Graph(real=np.float64)
    series = read_series(graph, model)
    for name, value, num_axes in (
        ("values", series.values, 3),
        ("seen", series.seen, 3),
        ("there", series.is_there, 2),
    ):
        graph.output(name, value, np.float64, *["any"] * num_axes)
    graph.output("ones", series.features, np.float32, "batch", 1)
    given = np.array([[[1.0, np.nan], [2.0, 3.0]], [[4.0, 5.0], [np.nan, np.nan]]], dtype=np.float32)
    found = run(graph, observations=given, lengths=np.array([2, 1]))
    np.testing.assert_array_equal(found["values"][0], [[1, 0], [4, 5]])  # time comes first
    np.testing.assert_array_equal(found["seen"][0], [[1, 0], [1, 1]])
    np.testing.assert_array_equal(found["there"], [[1, 1], [1, 0]])
    np.testing.assert_array_equal(found["ones"], [[1], [1]])
    assert series.expected == "emission.means"


def test_a_state_that_has_nothing_keeps_what_it_was(model):
    graph = Graph(real=np.float64)
    series = read_series(graph, model)
    states = graph.input("states", np.float64, "length", "batch", 2)
    before = {f"emission.{name}": graph.constant(np.full((1, 2, 2), 7.0)) for name in ("means", "variances")}
    after = series.maximise(states, before, model.prior_)
    graph.output("means", after["emission.means"], np.float64, "batch", 2, 2)
    given = np.array([[[1.0, 3.0], [3.0, 5.0]]], dtype=np.float32)
    in_first = np.array([[[1.0, 0.0]], [[1.0, 0.0]]])
    found = run(graph, observations=given, lengths=np.array([2]), states=in_first)
    np.testing.assert_allclose(found["means"][0], [[2, 4], [7, 7]])


def test_probabilities_of_no_counts_are_the_previous_ones():
    graph = Graph(real=np.float64)
    counts = graph.input("counts", np.float64, "batch", 2)
    graph.output("probs", dirichlet_mode(graph, counts, graph.constant(np.array([[0.2, 0.8]]))), np.float64, "batch", 2)
    found = run(graph, counts=np.array([[3.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found["probs"], [[0.75, 0.25], [0.2, 0.8]])
