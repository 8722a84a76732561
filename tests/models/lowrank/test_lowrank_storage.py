"""To disk and back, shared tensors included."""

from __future__ import annotations

import pytest
import torch
from small_networks import SmallCNN, SmallLanguageModel, token_batches
from torch import nn

from gossamer.models.lowrank import Budget, compress, load_compressed, save_compressed


def test_what_is_loaded_computes_the_same(tmp_path):
    data = token_batches()
    small = compress(SmallLanguageModel(), data=data, budget=Budget(params=0.5), allocator="pos_cvx").eval()
    save_compressed(small, tmp_path / "small")
    again = load_compressed(SmallLanguageModel(), tmp_path / "small").eval()
    torch.testing.assert_close(again(data[0][0]), small(data[0][0]))
    assert again.compression_report == small.compression_report
    assert "model" in (tmp_path / "small" / "report.txt").read_text()
    with pytest.raises(ValueError, match="ranks must name layers of the network"):
        load_compressed(SmallCNN(), tmp_path / "small")


def test_other_networks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="small must be a network that compress returned, got Linear without a report"):
        save_compressed(nn.Linear(2, 2), tmp_path)
    small = compress(nn.Linear(8, 8), data=[torch.randn(2, 8)], budget=Budget(params=0.9), allocator="uniform")
    save_compressed(small, tmp_path)
    with pytest.raises(ValueError, match="model must be like the one that was compressed"):
        load_compressed(nn.Linear(9, 8), tmp_path)
