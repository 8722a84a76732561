"""Padded histories: padding says nothing, and sparse weights give what dense ones do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.serving.export.graph import Graph
from gossamer.serving.export.histories import put_scores, read_histories, score_by_pairs

onnxruntime = pytest.importorskip("onnxruntime")


def scores(weights, items, values, *, weighted=True):
    graph = Graph()
    histories = read_histories(graph, weighted=weighted)
    popularity = np.arange(weights.shape[1], dtype=np.float32)
    put_scores(graph, histories, score_by_pairs(graph, histories, weights), popularity)
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"items": np.array(items), "values": np.array(values, np.float32)})[0]


def some_weights(num_items=12):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((num_items, num_items)) < 0.1, rng.random((num_items, num_items)), 0)
    return dense.astype(np.float32)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_weighted_sums(make):
    weights = some_weights()
    found = scores(make(weights), [[0, 3, -1], [5, 5, 7], [-1, 2, 4]], [[1, 2, 9], [1, 1, 0.5], [1, 1, 0]])
    expected = [weights[0] + 2 * weights[3], 2 * weights[5] + 0.5 * weights[7], weights[2]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_nobody_and_nothing(make):
    weights = make(some_weights())
    popular = np.arange(12)[None]
    np.testing.assert_array_equal(scores(weights, [[-1, 3]], [[1, 0]]), popular)
    np.testing.assert_array_equal(scores(weights, np.empty((1, 0), np.int64), np.empty((1, 0))), popular)
    assert scores(weights, np.empty((0, 2), np.int64), np.empty((0, 2))).shape == (0, 12)


def test_unweighted_histories_count_once():
    weights = some_weights()
    found = scores(weights, [[1, 2]], [[5, 0.25]], weighted=False)
    np.testing.assert_allclose(found[0], weights[1] + weights[2], rtol=1e-6)


def test_sparse_tables_are_small():
    graph = Graph()
    score_by_pairs(graph, read_histories(graph), sparse.csr_array(np.eye(1000, dtype=np.float32)))
    assert graph.num_bytes() < 10_000
