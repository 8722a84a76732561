from __future__ import annotations

import pytest
import torch

from gossamer.models.embeddings.rivals.dense import DenseEmbedding


def test_it_is_nn_embedding() -> None:
    table = DenseEmbedding(7, 3, padding_idx=2)
    reference = torch.nn.Embedding.from_pretrained(table.vectors.detach().clone(), padding_idx=2)
    ids = torch.tensor([6, 0, 5])
    assert torch.equal(table(ids), reference(ids))
    assert not table(torch.tensor([2])).any()  # nn.Embedding only leaves the row of padding as it is


def test_converting_is_exact() -> None:
    weight = torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(DenseEmbedding.from_pretrained(weight).weight, weight)


def test_it_saves_nothing() -> None:
    with pytest.raises(ValueError, match="ratio must be at most 1 for a dense table, which saves nothing, got 2"):
        DenseEmbedding(7, 3, ratio=2.0)
