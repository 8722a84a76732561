"""Split layers behind the face of whole ones."""

from __future__ import annotations

import torch
from torch.nn import functional

from gossamer.networks.low_rank import LowRankEmbedding, LowRankLinear


def test_linear_is_the_product():
    layer = LowRankLinear(5, 4, 2, bias=True)
    inputs = torch.randn(3, 5)
    torch.testing.assert_close(layer(inputs), functional.linear(inputs, layer.weight, layer.bias))
    assert LowRankLinear(5, 4, 2, bias=False).bias is None
    assert list(layer.state_dict()) == ["0.weight", "1.weight", "1.bias"]


def test_embedding_is_the_product():
    table = LowRankEmbedding(7, 4, 2, padding_idx=0)
    ids = torch.tensor([[0, 3], [6, 1]])
    torch.testing.assert_close(table(ids), functional.embedding(ids, table.weight))
    hidden = torch.randn(2, 3, 4)
    torch.testing.assert_close(table.logits(hidden), hidden @ table.weight.mT)
    assert table(torch.tensor(0)).abs().max() == 0
