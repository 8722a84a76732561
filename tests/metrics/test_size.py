"""Sizes and multiply-adds against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import nn
from torch.nn import functional

from gossamer.metrics.size import count_bytes, count_macs, count_values


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.output = nn.Linear(4, 10)
        self.output.weight = self.embedding.weight
        self.register_buffer("scratch", torch.zeros(100), persistent=False)


SPARSE = csr_array(np.array([[0, 2, 0], [1, 0, 3]], dtype=np.float32))


@pytest.mark.parametrize(
    ("stored", "values", "num_bytes"),
    [
        (np.zeros((3, 4), dtype=np.float32), 12, 48),
        (np.zeros(5, dtype=np.int32), 0, 20),  # indices
        (SPARSE, 3, 3 * 4 + 3 * 4 + 3 * 4),  # values, columns, row offsets
        (torch.zeros(3, dtype=torch.float64), 3, 24),
        (nn.Linear(3, 2), 8, 32),
        (nn.BatchNorm1d(4), 16, 16 * 4 + 8),  # running statistics are stored, and a step counter
        (Tied(), 50, 200),  # the tied table once, the unsaved buffer never
        ({"codes": SPARSE, "anchors": np.zeros(2)}, 5, 36 + 16),
        ({}, 0, 0),
    ],
)
def test_sizes_count_what_is_stored(stored, values, num_bytes):
    assert count_values(stored) == values
    assert count_bytes(stored) == num_bytes


class WeightedBag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(10, 4))

    def forward(self, indices: torch.Tensor, weights: torch.Tensor | None) -> torch.Tensor:
        return functional.embedding_bag(indices, self.table, per_sample_weights=weights, mode="sum")


class MatrixVector(nn.Module):
    def forward(self, matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        return matrix @ vector


@pytest.mark.parametrize(
    ("module", "inputs", "macs"),
    [
        (nn.Linear(5, 7), [torch.zeros(3, 5)], 3 * 5 * 7),
        (nn.Linear(5, 7, bias=False), [torch.zeros(2, 3, 5)], 6 * 5 * 7),
        (nn.Conv1d(4, 6, 3), [torch.zeros(2, 4, 10)], 2 * 8 * 6 * 4 * 3),
        (nn.Conv2d(4, 6, 3, groups=2, stride=2, padding=1), [torch.zeros(2, 4, 10, 10)], 2 * 25 * 6 * 2 * 9),
        (nn.Embedding(9, 4), [torch.tensor([[1, 2]])], 0),
        (nn.RNN(5, 7), [torch.zeros(4, 2, 5)], 4 * 2 * (5 * 7 + 7 * 7)),
        (nn.GRU(5, 7), [torch.zeros(4, 2, 5)], 4 * 2 * 3 * (5 * 7 + 7 * 7)),
        (nn.LSTM(5, 7), [torch.zeros(4, 2, 5)], 4 * 2 * 4 * (5 * 7 + 7 * 7)),
        (nn.LSTM(5, 7).double(), [torch.zeros(4, 2, 5).double()], 4 * 2 * 4 * (5 * 7 + 7 * 7)),
        (
            nn.LSTM(5, 7, num_layers=2, bidirectional=True, batch_first=True),
            [torch.zeros(2, 4, 5)],
            2 * 4 * 2 * 4 * ((5 * 7 + 7 * 7) + (14 * 7 + 7 * 7)),
        ),
        (nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 3), nn.ReLU()), [torch.tensor([[1, 2]])], 2 * 4 * 3),
        (WeightedBag(), [torch.zeros(3, 2, dtype=torch.int64), torch.zeros(3, 2)], 6 * 4),
        (WeightedBag(), [torch.zeros(3, 2, dtype=torch.int64), None], 0),
        (MatrixVector(), [torch.zeros(3, 4), torch.zeros(4)], 12),
        (MatrixVector(), [torch.zeros(4), torch.zeros(4)], 4),
        (
            nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.0),
            [torch.zeros(3, 2, 8)],
            6 * (4 * 8 * 8 + 2 * 8 * 16) + 2 * (2 * 2 * 3 * 3 * 4),
        ),
    ],
)
def test_multiply_adds_equal_counts_by_hand(module, inputs, macs):
    assert count_macs(module, *inputs) == macs


def test_counting_leaves_the_module_as_it_was():
    module = nn.Linear(2, 2).train()
    count_macs(module, torch.zeros(1, 2))
    assert module.training
    assert module.weight.grad is None
    assert torch.is_grad_enabled()


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("count", [count_values, count_bytes])
def test_mistakes_are_answered_with_a_sentence(count):
    with pytest.raises(
        ValueError, match=r"stored must be an array, csr_array, tensor, module or a mapping .* got list"
    ):
        count([1.0])
    with pytest.raises(
        ValueError, match=r"stored must be a dense tensor or a csr_array, got a tensor of torch\.sparse_coo"
    ):
        count(torch.eye(2).to_sparse())
