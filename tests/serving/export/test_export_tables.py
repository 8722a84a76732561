"""Tables in a graph: lookups and tied output layers of anchors, of low-rank and of plain tables."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from gossamer.models.embeddings import AnchorEmbedding
from gossamer.models.embeddings.tables import make_table
from gossamer.models.lowrank.module import LowRankEmbedding
from gossamer.serving.export.graph import Graph
from gossamer.serving.export.tables import GraphTable

onnxruntime = pytest.importorskip("onnxruntime")


def tables():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    weights = np.where(rng.random((50, 6)) < 0.3, rng.random((50, 6)), 0).astype(np.float32)
    from scipy import sparse

    return {
        "anchors": AnchorEmbedding.from_codes(
            rng.normal(size=(6, 4)).astype(np.float32), sparse.csr_array(weights), padding_idx=2
        ),
        "lowrank": LowRankEmbedding(50, 4, 2),
        "plain": nn.Embedding(50, 4),
        "hashed": make_table("sparse-hash", 50, 4, counts=np.ones(50), ratio=1.5, random_state=0),
    }


@pytest.mark.parametrize("kind", ["anchors", "lowrank", "plain", "hashed"])
def test_lookups_and_logits(kind):
    table = tables()[kind].eval()
    graph = Graph()
    inside = GraphTable(graph, table)
    ids, hidden = graph.input("ids", np.int64, "b", "t"), graph.input("hidden", np.float32, "n", 4)
    graph.output("vectors", inside.look_up(ids), np.float32, "b", "t", 4)
    graph.output("logits", inside.logits(hidden), np.float32, "n", 50)
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    numbers, states = np.array([[0, 2, 49], [7, 7, 1]]), np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    vectors, logits = session.run(None, {"ids": numbers, "hidden": states})
    with torch.no_grad():
        every = table(torch.arange(50)).numpy()
    np.testing.assert_allclose(vectors, every[numbers], atol=1e-6)
    np.testing.assert_allclose(logits, states @ every.T, atol=1e-5)


def test_small_tables_stay_small():
    graph = Graph()
    GraphTable(graph, LowRankEmbedding(5000, 64, 2))
    assert graph.num_bytes() == 4 * 2 * (5000 + 64)
