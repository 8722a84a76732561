import numpy as np
import pytest
import torch
from torch import nn

from gossamer.models.embeddings.table import EmbeddingTable, budget_of, check_pretrained


class Plain(EmbeddingTable):
    method = "plain"

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        self.vectors = nn.Parameter(torch.arange(1.0, 1 + num_embeddings * embedding_dim).reshape(-1, embedding_dim))

    def rows(self, ids):
        return self.vectors[ids]

    def config(self):
        return {"num_embeddings": self.num_embeddings, "embedding_dim": self.embedding_dim}

    @classmethod
    def from_pretrained(cls, weight, *, padding_idx=None, **size):
        raise NotImplementedError


def test_ids_of_any_shape_and_integer():
    table = Plain(5, 2)
    assert table(torch.tensor(3)).tolist() == [7, 8]
    assert table(torch.zeros(2, 0, 3, dtype=torch.int32)).shape == (2, 0, 3, 2)
    assert torch.equal(table(torch.tensor([[0, 4]], dtype=torch.int32)), table.weight[[0, 4]].unsqueeze(0))


def test_padding_is_zero_and_learns_nothing():
    table = Plain(3, 2, padding_idx=1)
    table(torch.tensor([0, 1])).sum().backward()
    assert table.weight[1].tolist() == [0, 0]
    assert table.vectors.grad.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_bags_are_sums():
    table = Plain(5, 2)
    bags = table.bag(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 1]), torch.tensor([1.0, 2.0, 0.5]))
    assert bags.tolist() == [[1, 2], [0, 0], [7.5, 10]]
    reference = nn.functional.embedding_bag(torch.tensor([0, 1, 1]), table.weight, torch.tensor([0, 1, 1]), mode="sum")
    assert torch.equal(table.bag(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 1])), reference)


def test_logits_are_products_with_the_table():
    table = Plain(5, 2)
    hidden = torch.tensor([[[1.0, -1.0]]])
    assert table.logits(hidden).tolist() == [[[-1] * 5]]


def test_store_and_restore():
    table, other = Plain(5, 2), Plain(5, 2)
    nn.init.zeros_(other.vectors)
    other.restore(table.stored())
    assert torch.equal(other.weight, table.weight)
    assert (table.num_values(), table.nbytes()) == (10, 40)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({}, r"arrays must be \['vectors'\], got \[\]"),
        ({"vectors": np.ones((4, 2), dtype=np.float32)}, r"vectors must have shape \(5, 2\), got \(4, 2\)"),
        ({"vectors": np.full((5, 2), np.nan, dtype=np.float32)}, "vectors must be finite"),
    ],
)
def test_hostile_arrays(arrays, sentence):
    with pytest.raises(ValueError, match=sentence):
        Plain(5, 2).restore(arrays)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Plain(5, 2)(torch.tensor([1, 5])), "ids must be from 0 to 4, got 5"),
        (lambda: Plain(5, 2)(torch.tensor([-1])), "ids must be from 0 to 4, got -1"),
        (lambda: Plain(5, 2)(torch.tensor([1.0])), "ids must be integers, got torch.float32"),
        (lambda: Plain(0, 2), "num_embeddings must be an integer >= 1, got 0"),
        (lambda: Plain(5, 2, padding_idx=5), "padding_idx must be an integer >= 0 and <= 4, got 5"),
        (lambda: Plain(5, 2).bag(torch.tensor([0]), torch.tensor([1])), "offsets must begin with 0 and never fall"),
        (lambda: Plain(5, 2).bag(torch.tensor([0]), torch.tensor([0, 2])), "offsets must be at most the 1 ids, got 2"),
        (lambda: check_pretrained(torch.ones(3)), r"weight must be a V × D table, got shape \(3,\)"),
        (lambda: check_pretrained(torch.tensor([[1.0], [torch.nan]])), "weight must be finite, got NaN .* in row 1"),
        (lambda: budget_of(10, 2, 0.5), "ratio must be a finite number >= 1, got 0.5"),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
