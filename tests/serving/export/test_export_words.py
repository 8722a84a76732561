"""Padded words: how many there are, and where they are cut."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.serving.export.graph import Graph
from gossamer.serving.export.words import pad_words, read_words

onnxruntime = pytest.importorskip("onnxruntime")


def test_words_are_cut_counted_and_padded():
    graph = Graph()
    words = read_words(graph, max_length=3)
    graph.output("lengths", words.lengths, np.int64, "batch")
    graph.output("padded", pad_words(words, 2), np.int64, "batch", "columns")
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    lengths, padded = session.run(None, {"words": np.array([[4, 0, 2, 1], [7, -1, -1, -1], [-1, -1, -1, -1]])})
    assert lengths.tolist() == [3, 1, 0]
    assert padded.tolist() == [[4, 0, 2, -1, -1], [7, -1, -1, -1, -1], [-1, -1, -1, -1, -1]]
