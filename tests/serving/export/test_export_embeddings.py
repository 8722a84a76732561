"""Models over tables beyond the contracts: dense tables, shared biases, texts longer than the model reads."""

from __future__ import annotations

import pytest

from gossamer.models.embeddings import AnchorRecommender, AnchorTextClassifier
from gossamer.serving.export.onnx_file import draw_graph
from gossamer.testing.export_parity import assert_parity
from gossamer.testing.right_answers import two_blocks, two_topics

pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("method", ["dense", "lowrank", "int8"])
def test_other_tables(method):
    data = two_blocks().history
    ratio = {} if method == "dense" else {"ratio": 1.5}
    model = AnchorRecommender(method=method, solver="proximal", biases=True, embedding_dim=4, epochs=2, **ratio)
    assert_parity(model.fit(data), data)


def test_shared_biases():
    data = two_blocks().history
    model = AnchorRecommender(biases=True, embedding_dim=3, user_anchors=4, item_anchors=3, epochs=3).fit(data)
    assert model.model_.shared_biases
    assert_parity(model, data)


def test_texts_are_cut_where_the_model_cuts_them():
    data = two_topics()
    model = AnchorTextClassifier(
        method="dense", ratio=None, embedding_dim=4, num_filters=3, max_length=2, epochs=1, batch_size=12
    ).fit(data.train)
    assert_parity(model, data.test)
    assert draw_graph(model).answers.startswith("predict_probs")
