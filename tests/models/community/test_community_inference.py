"""Embeddings of a fitted network: the same in blocks as at once, and training goes on as it was."""

from __future__ import annotations

import pytest
import torch
from tiny_community import fitted, two_tastes

from gossamer.models.community import inference
from gossamer.models.community.encoder import CodeTable
from gossamer.models.community.graph import BipartiteGraph
from gossamer.models.community.inference import embed_items, judged


def test_blocks_of_items_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = fitted(), two_tastes()
    graph = BipartiteGraph.from_interactions(data, item_edges=3)
    items = CodeTable.of(model.item_reader_.read(data.item_features, data.num_items))
    monkeypatch.setattr(inference, "EDGES_AT_ONCE", 7)
    calls = []
    hook = model.network_.user_encoder.register_forward_hook(lambda *_: calls.append(1))
    vectors, bias = embed_items(model.network_, items, model.training_users_.codes, graph, data.num_items)
    hook.remove()
    assert len(calls) == 1, "users are the same in every block"
    torch.testing.assert_close(vectors, model.item_vectors_)
    torch.testing.assert_close(bias, model.item_bias_)


def test_the_mode_comes_back() -> None:
    layer = torch.nn.Dropout()
    with judged(layer):
        assert not layer.training
        assert not torch.is_grad_enabled()
    assert layer.training
    assert torch.is_grad_enabled()
