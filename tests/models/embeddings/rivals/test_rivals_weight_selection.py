from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.embeddings.rivals.variational import SparseVariationalEmbedding
from gossamer.models.embeddings.rivals.weight_selection import index_dtype


@given(st.integers(1, 9), st.integers(1, 5), st.data())
def test_the_largest_weights_are_stored_and_looked_up(num_rows: int, dim: int, data: st.DataObject):
    num_kept = data.draw(st.integers(1, num_rows * dim))
    weight = torch.from_numpy(np.random.default_rng(num_kept).permutation(num_rows * dim) + 1.0)
    weight = weight.reshape(num_rows, dim).float()
    table = SparseVariationalEmbedding.from_pretrained(weight, num_kept=num_kept)
    expected = torch.where(weight > num_rows * dim - num_kept, weight, 0.0)
    torch.testing.assert_close(table.weight, expected)
    ids = torch.tensor([num_rows - 1, 0, num_rows - 1])
    torch.testing.assert_close(table(ids), expected[ids])
    assert table.num_values() == num_kept


def test_bytes_are_values_columns_and_row_pointers():
    table = SparseVariationalEmbedding.from_pretrained(torch.randn(50, 16), ratio=8)
    assert table.num_values() == 100
    assert table.nbytes() == 100 * 4 + 100 * 1 + 51 * 4


def test_kept_values_can_be_trained_further():
    table = SparseVariationalEmbedding.from_pretrained(torch.tensor([[3.0, 0.1], [0.2, 2.0]]), num_kept=2)
    table(torch.tensor([1, 1, 0])).sum().backward()
    assert table.values.grad is not None
    assert table.values.grad.tolist() == [1.0, 2.0]


def test_padding_takes_no_place():
    table = SparseVariationalEmbedding.from_pretrained(torch.ones(3, 2), num_kept=4, padding_idx=1)
    assert table.weight.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_a_stored_table_is_restored():
    table = SparseVariationalEmbedding.from_pretrained(torch.randn(30, 4), ratio=6)
    again = SparseVariationalEmbedding(**table.config())
    again.restore(table.stored())
    torch.testing.assert_close(again.weight, table.weight)


def test_columns_take_the_smallest_type():
    assert [index_dtype(n) for n in (256, 1 << 15, (1 << 15) + 1)] == [torch.uint8, torch.int16, torch.int32]


def test_one_of_size_and_ratio_is_asked_for():
    with pytest.raises(ValueError, match="num_kept or ratio must be given, one of them alone, got num_kept=None"):
        SparseVariationalEmbedding(5, 2)
