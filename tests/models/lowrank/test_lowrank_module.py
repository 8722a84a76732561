"""A tied output layer over a low-rank table."""

from __future__ import annotations

import torch

from gossamer.models.lowrank.module import LowRankEmbedding, TiedOutput


def test_tied_output():
    table = LowRankEmbedding(7, 4, 2)
    hidden, bias = torch.randn(2, 3, 4), torch.nn.Parameter(torch.randn(7))
    torch.testing.assert_close(TiedOutput(table, bias)(hidden), hidden @ table.weight.mT + bias)
    torch.testing.assert_close(TiedOutput(table, None)(hidden), hidden @ table.weight.mT)
