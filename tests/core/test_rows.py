"""Rows of any width and type are read and written as indexing does."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from gossamer.core.rows import look_up, put_rows_, take_rows

DTYPES = [torch.float32, torch.float64, torch.int16, torch.int64, torch.bool, torch.bfloat16]


def matrix(num_rows: int, width: int | None, dtype: torch.dtype) -> Tensor:
    shape = (num_rows,) if width is None else (num_rows, width)
    return torch.randint(0, 100, shape).to(dtype)


@given(
    dtype=st.sampled_from(DTYPES),
    width=st.sampled_from([None, 1, 2, 3, 4, 8, 9]),
    rows=st.lists(st.integers(0, 5), max_size=8, unique=True),
)
def test_reading_and_writing_equal_indexing(dtype: torch.dtype, width: int | None, rows: list[int]) -> None:
    table, wanted = matrix(6, width, dtype), torch.tensor(rows, dtype=torch.int64)
    torch.testing.assert_close(take_rows(table, wanted), table[wanted], rtol=0, atol=0)
    new, expected = matrix(len(rows), width, dtype), table.clone()
    expected[wanted] = new
    put_rows_(table, wanted, new)
    torch.testing.assert_close(table, expected, rtol=0, atol=0)


def test_special_numbers_keep_their_bits() -> None:
    table = torch.tensor([[float("nan"), -0.0], [float("inf"), 1e-42]])
    taken = take_rows(table, torch.tensor([1, 0]))
    assert torch.equal(taken.view(torch.int32), table.flip(0).view(torch.int32))


def test_views_that_are_not_contiguous_are_read_too() -> None:
    table = torch.arange(12.0).reshape(2, 6).T
    torch.testing.assert_close(take_rows(table, torch.tensor([4])), table[4:5])
    put_rows_(table, torch.tensor([4]), torch.tensor([[1.0, 2.0]]))
    assert table[4].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("width", [2, 3])
def test_gradients_of_a_look_up_come_in_rows(width: int) -> None:
    table = torch.randn(5, width, requires_grad=True)
    rows, weights = torch.tensor([1, 3, 1]), torch.randn(3, width)
    (gradient,) = torch.autograd.grad((look_up(table, rows) * weights).sum(), table)
    (expected,) = torch.autograd.grad((functional.embedding(rows, table, sparse=True) * weights).sum(), table)
    assert gradient.is_sparse
    torch.testing.assert_close(gradient.to_dense(), expected.to_dense())


def test_reading_a_parameter_is_differentiable() -> None:
    table = torch.randn(4, 2, requires_grad=True)
    take_rows(table, torch.tensor([2, 2])).sum().backward()
    assert table.grad is not None
    assert table.grad[2].tolist() == [2.0, 2.0]
