"""Compressed networks beyond the contracts: images through split convolutions, whitening."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.arrays import LabelledArrays
from gossamer.models.lowrank import CompressedClassifier
from gossamer.models.lowrank.images import Preparation
from gossamer.serving.export.graph import Graph
from gossamer.serving.export.lowrank import _prepare
from gossamer.testing.export_parity import assert_parity

onnxruntime = pytest.importorskip("onnxruntime")


def images(count=12):
    rng = np.random.default_rng(0)
    return LabelledArrays(rng.integers(0, 256, (count, 3, 32, 32)).astype(np.uint8), np.arange(count) % 2)


def test_split_convolutions():
    data = images()
    model = CompressedClassifier(
        network="resnet20",
        params=0.6,
        allocator="pos_cvx",
        epochs=1,
        batch_size=6,
        search_rows=4,
        calibration_batches=1,
    )
    assert_parity(model.fit(data), data)
    assert model.report_ is not None


def test_whitening():
    rows = images().inputs[:, :, :4, :4]
    preparation = Preparation.fit("whitened", rows)
    graph = Graph()
    given = graph.input("x", np.float32, "batch", 3, 4, 4)
    graph.output("y", _prepare(graph, given, preparation, (3, 4, 4)), np.float32, "batch", 3, 4, 4)
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {"x": rows.astype(np.float32)})[0]
    np.testing.assert_allclose(found, preparation(rows), atol=1e-3)
