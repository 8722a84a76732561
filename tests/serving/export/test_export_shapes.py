"""Shapes between operators are those that onnxruntime finds when the graph runs."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.serving.export.graph import Graph
from gossamer.serving.export.shapes import infer_shapes

pytest.importorskip("onnx", reason="needs the extra export")


def small_graph() -> Graph:
    graph = Graph("a product")
    inputs = graph.input("inputs", np.float32, "batch", 3)
    wide = (inputs @ np.ones((3, 500), np.float32)).apply("Relu")
    graph.output("sums", wide.sum(-1, keep=True), np.float32, "batch", 1)
    graph.output("turned", wide.reshape(-1, 5, 100), np.float32, "rows", 5, 100)
    return graph


def test_every_value_has_its_shape_and_free_axes_have_names():
    graph = small_graph()
    shapes = infer_shapes(graph)
    assert shapes["inputs"] == ("batch", 3)
    product, relu, total, _, turned, _ = graph.nodes
    assert shapes[product.outputs[0]] == shapes[relu.outputs[0]] == ("batch", 500)
    assert shapes[total.outputs[0]] == ("batch", 1)
    assert shapes[turned.outputs[0]][1:] == (5, 100)
    assert shapes["sums"] == ("batch", 1)


def test_shapes_are_those_of_a_run():
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra export")
    graph = small_graph()
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    sums, turned = session.run(None, {"inputs": np.ones((7, 3), np.float32)})
    shapes = infer_shapes(graph)
    for name, array in (("sums", sums), ("turned", turned)):
        assert all(told == got for told, got in zip(shapes[name], array.shape, strict=True) if isinstance(told, int))


def test_without_onnx_there_are_none(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert infer_shapes(small_graph()) == {}
