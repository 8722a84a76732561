"""Graphs written as arithmetic compute what NumPy does, and refuse what no file can hold."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from gossamer.serving.export import graph as graph_module
from gossamer.serving.export.graph import OPSET, Graph

onnxruntime = pytest.importorskip("onnxruntime")


def run(graph, **inputs):
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def test_operators_are_those_of_numpy():
    graph = Graph("sums")
    x = graph.input("x", np.float32, "batch", 3)
    given = np.array([[1.0, -2.0, 4.0], [0.5, 0.0, 3.0]], np.float32)
    weights = np.arange(6, dtype=np.float64).reshape(3, 2)
    total = (2.0 - x) @ weights + 1.0 / (x.at_least(0.5) * 2.0).sum(1, keep=True) - (-x).max(1, keep=True)
    graph.output("y", np.float32([[1, 2]]) * total.at_most(9.0), np.float32, "batch", 2)
    expected = (2 - given) @ weights + 1 / (np.maximum(given, 0.5) * 2).sum(1, keepdims=True)
    expected = np.minimum(expected - (-given).max(1, keepdims=True), 9) * [[1, 2]]
    np.testing.assert_allclose(run(graph, x=given), expected, rtol=1e-6)


def test_shapes_and_choices():
    graph = Graph()
    x = graph.input("x", np.int64, "batch", "length")
    places = graph.range(x.length(1)).add_axis(0)
    chosen = graph.where(x > 1, places, x.part(0, 1, axis=1))
    graph.output("y", graph.join(chosen, x.reshape(0, -1)).cast(np.float32), np.float32, "batch", "columns")
    np.testing.assert_array_equal(run(graph, x=np.array([[0, 5], [2, 1]])), [[0, 1, 0, 5], [0, 2, 2, 1]])


def test_metadata_and_versions():
    graph = Graph("says so")
    graph.output("y", graph.input("x", np.float32, 2) + 1.0, np.float32, 2)
    model = graph.model({"class": "a:B"})
    assert (model.doc_string, model.opset_import[0].version, model.producer_name) == ("says so", OPSET, "gossamer")
    assert {prop.key: prop.value for prop in model.metadata_props} == {"class": "a:B"}


def test_too_large(monkeypatch):
    graph = Graph()
    graph.output("y", graph.input("x", np.float32, 8) + np.ones(8), np.float32, 8)
    monkeypatch.setattr(graph_module, "LARGEST_BYTES", 31)
    with pytest.raises(ValueError, match="the model must take less than 2 GB in ONNX, got 32 bytes"):
        graph.model({})


def test_missing_extra(monkeypatch):
    real = builtins.__import__

    def without_onnx(name, *arguments, **options):
        if name == "onnx":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_onnx)
    graph = Graph()
    graph.output("y", graph.input("x", np.float32, 2) + 1.0, np.float32, 2)
    assert [node.kind for node in graph.nodes] == ["Add", "Identity"]  # drawn, and looked at, without it
    with pytest.raises(ImportError, match=r"pip install 'gossamer\[export\]'"):
        graph.model({})


@pytest.mark.parametrize("backwards", [False, True])
def test_a_loop_carries_on_and_sees_what_is_around_it(backwards):
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = Graph(real=np.float64)
    steps, factor = graph.input("steps", np.float64, "length", 1), graph.input("factor", np.float64, 1)
    body = graph.body()
    total, step = (body.input(f"{body.scope}{name}", np.float64, 1) for name in ("total", "step"))
    added = total + step * body.see(factor)
    for name in ("carried", "shown"):
        body.output(f"{body.scope}{name}", added, np.float64, 1)
    last, every = graph.scan(body, [graph.constant(np.array([0.0]))], [steps], 1, backwards=backwards)
    graph.output("last", last, np.float64, 1)
    graph.output("every", every, np.float64, "length", 1)
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    last, every = session.run(None, {"steps": np.array([[1.0], [2.0], [3.0]]), "factor": np.array([10.0])})
    assert last.tolist() == [60.0]
    assert every.ravel().tolist() == ([60.0, 50.0, 30.0] if backwards else [10.0, 30.0, 60.0])
