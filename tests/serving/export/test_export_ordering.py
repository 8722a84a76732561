"""Sorting inside a graph: ties go to the first column, and sparsemax lies in the simplex."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.core.sparsemax import sparsemax as sparsemax_of
from gossamer.serving.export.graph import Graph
from gossamer.serving.export.ordering import ranks, sparsemax

onnxruntime = pytest.importorskip("onnxruntime")


def run(build, given):
    graph = Graph()
    value = build(graph, graph.input("x", np.float32, "batch", given.shape[1]))
    graph.output("y", value.cast(np.float32), np.float32, "batch", given.shape[1])
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": given})[0]


@pytest.mark.parametrize("largest_first", [True, False])
def test_ranks(largest_first):
    given = np.random.default_rng(0).integers(0, 3, (20, 7)).astype(np.float32)
    sign = -1 if largest_first else 1
    expected = (sign * given).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    found = run(lambda graph, x: ranks(graph, x, 7, largest_first=largest_first), given)
    np.testing.assert_array_equal(found, expected)


def test_sparsemax():
    given = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    found = run(lambda graph, x: sparsemax(graph, x, 5), given)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(found, sparsemax_of(torch.from_numpy(given)), atol=1e-6)
