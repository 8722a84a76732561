"""Rows of narrow matrices, read and written fast: torch copies row by row, which costs more than a few numbers do."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

# One number as wide as a whole row: torch then copies numbers instead of rows, several times faster.
_AS_WIDE_AS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}


def take_rows(matrix: Tensor, rows: Int[Tensor, " n"]) -> Tensor:
    """Return `matrix[rows]`.

    >>> take_rows(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 1])).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    whole = _whole_rows(matrix)
    if whole is None:
        return matrix.index_select(0, rows)
    return whole.index_select(0, rows).view(matrix.dtype).view(len(rows), *matrix.shape[1:])


def put_rows_(matrix: Tensor, rows: Int[Tensor, " n"], values: Tensor) -> None:
    """Set `matrix[rows] = values` in place; `rows` are distinct."""
    whole, new = _whole_rows(matrix), _whole_rows(values)
    if whole is None or new is None:
        matrix.index_copy_(0, rows, values)
    else:
        whole.index_copy_(0, rows, new)


def look_up(matrix: Tensor, rows: Int[Tensor, " n"]) -> Tensor:
    """Return `matrix[rows]` with a row-sparse gradient, as `functional.embedding(rows, matrix, sparse=True)` does."""
    looked_up: Tensor = _LookUp.apply(matrix, rows)  # type: ignore[no-untyped-call]
    return looked_up


class _LookUp(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, matrix: Tensor, rows: Tensor) -> Tensor:
        context.save_for_backward(rows)
        context.shape = matrix.shape
        return take_rows(matrix, rows)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (rows,) = context.saved_tensors
        return torch.sparse_coo_tensor(rows.unsqueeze(0), gradient, context.shape, check_invariants=False), None


def _whole_rows(matrix: Tensor) -> Tensor | None:
    """Return the same memory as one number per row, where there is a number of that width."""
    width = matrix.element_size() * matrix[0].numel() if len(matrix) else 0
    if width not in _AS_WIDE_AS or not matrix.is_contiguous() or (matrix.requires_grad and torch.is_grad_enabled()):
        return None
    return matrix.detach().view(len(matrix), -1).view(_AS_WIDE_AS[width]).view(-1)
