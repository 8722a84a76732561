"""Split layers behind the face of whole ones."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from gossamer.networks.low_rank import LowRankConvolution, LowRankEmbedding, LowRankLinear


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


@pytest.mark.parametrize("scheme", ["spatial", "channel"])
def test_convolution_is_the_product_where_the_whole_one_looks(scheme):
    whole = nn.Conv2d(4, 6, (3, 5), stride=(2, 1), padding=(1, 2), groups=2)
    kernels = [(3, 1), (1, 5)] if scheme == "spatial" else [(3, 5), (1, 1)]
    first, second = torch.randn(4, 2, *kernels[0]), torch.randn(6, 2, *kernels[1])
    split = LowRankConvolution(whole, nn.Parameter(first), nn.Parameter(second), scheme=scheme)
    assert [type(layer) for layer in split] == [nn.Conv2d, nn.Conv2d]
    assert split[1].bias is whole.bias
    groups = [slice(0, 2), slice(2, 4)], [slice(0, 3), slice(3, 6)]
    with torch.no_grad():  # per group: (out, rank, 1, n) · (rank, in, m, 1) summed over the rank
        whole.weight.copy_(
            torch.cat(
                [(second[out, :, None] * first[None, ranks]).sum(dim=1) for ranks, out in zip(*groups, strict=True)]
            )
        )
        images = torch.randn(3, 4, 9, 8)
        torch.testing.assert_close(split(images), whole(images), rtol=1e-4, atol=1e-4)
