"""The encoder's first layer, from a batch of sparse counts to a dense one: x·W + b without ever writing x out."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

import numba
import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_bool, check_int
from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.kernels import group_by_term, sum_by_term

Groups = tuple[np.ndarray, np.ndarray, np.ndarray]
ROW_SPARSE_FROM = 20_000  # terms, from which on a batch of 500 documents touches few enough of them


class CatchesUp(Protocol):
    """An optimiser that leaves rows without gradient alone until somebody wants to read them (`row_adam.py`)."""

    def catch_up(self, parameter: Tensor, rows: Int[np.ndarray, " U"] | None = None) -> None:
        """Make all updates that these rows (None: all) have missed."""


class SparseInputLayer(nn.Module):
    """x·W + b for sparse rows x; W has a row per term.

    With `sparse_gradient` the gradient of W has only the rows whose terms occur in the batch, and `row_adam.make_adam`
    updates only these; it is honoured on the CPU and in single precision, where it pays. On other devices and in
    other precisions the gradient is dense.
    """

    def __init__(self, num_terms: int, width: int, *, sparse_gradient: bool = False) -> None:
        super().__init__()
        check_int("num_terms", num_terms, at_least=1)
        check_int("width", width, at_least=1)
        self.sparse_gradient = check_bool("sparse_gradient", sparse_gradient)
        self.weight = nn.Parameter(torch.empty(num_terms, width))
        self.bias = nn.Parameter(torch.empty(width))
        # Weak, because the optimiser holds the layer's parameters already; copies of the layer do not get it.
        self._optimiser: weakref.ref[CatchesUp] | None = None

    def forward(self, batch: CountBatch, inputs: Float[Tensor, " N"]) -> Float[Tensor, "B width"]:
        """Return the layer's output where the nonzeros of `batch` have the values `inputs`."""
        if batch.num_terms != len(self.weight):
            raise ValueError(f"batch must have {len(self.weight)} terms as the layer has, got {batch.num_terms}")
        if self.weight.device.type == "cpu" and self.weight.dtype == torch.float32:
            groups = self._groups(batch)
            product: Tensor = _SparseProduct.apply(  # type: ignore[no-untyped-call]
                self.weight, batch, inputs.detach().to(torch.float32), groups, self.sparse_gradient
            )
        else:
            product = _weighted_sums(self.weight, batch, inputs.detach().to(self.weight.dtype))
        return product + self.bias

    def attach(self, optimiser: CatchesUp) -> None:
        """Ask `optimiser` to bring rows up to date before they are read."""
        self._optimiser = weakref.ref(optimiser)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_optimiser": None}

    def train(self, mode: bool = True) -> SparseInputLayer:
        """Switch to training or evaluation; what is evaluated, copied or saved is up to date in every row."""
        super().train(mode)
        if not mode:
            self._catch_up(None)
        return self

    def _groups(self, batch: CountBatch) -> Groups | None:
        """Return the batch's nonzeros by term, where a gradient or the optimiser will want them."""
        wants_gradient = torch.is_grad_enabled() and self.weight.requires_grad
        may_be_behind = self.training and self._optimiser is not None
        if not (wants_gradient or may_be_behind):
            return None
        groups: Groups = group_by_term(batch.terms.numpy(), batch.num_terms)
        if may_be_behind:
            self._catch_up(groups[0])
        return groups

    def _catch_up(self, rows: Int[np.ndarray, " U"] | None) -> None:
        optimiser = None if self._optimiser is None else self._optimiser()
        if optimiser is not None:
            optimiser.catch_up(self.weight, rows)


def _weighted_sums(weight: Tensor, batch: CountBatch, inputs: Tensor) -> Tensor:
    return functional.embedding_bag(batch.terms, weight, batch.offsets[:-1], mode="sum", per_sample_weights=inputs)


class _SparseProduct(torch.autograd.Function):
    """X·W, and the gradient Xᵀ·G term by term: G is small and stays in cache, and each row is written once."""

    @staticmethod
    def forward(
        context: Any, weight: Tensor, batch: CountBatch, inputs: Tensor, groups: Groups | None, is_sparse: bool
    ) -> Tensor:
        context.kept = (weight.shape, batch, inputs, groups, is_sparse)
        return _weighted_sums(weight, batch, inputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        shape, batch, inputs, (distinct, begins, order), is_sparse = context.kept
        targets = np.arange(len(distinct)) if is_sparse else distinct
        sums = torch.empty(len(distinct), shape[1]) if is_sparse else torch.zeros(shape)
        given, rows, num_parts = gradient.contiguous().numpy(), batch.row_of_nonzero.numpy(), numba.get_num_threads()
        sum_by_term(given, rows, inputs.numpy(), order, begins, targets, sums.numpy(), num_parts)
        if is_sparse:
            places = torch.from_numpy(distinct).unsqueeze(0)
            sums = torch.sparse_coo_tensor(places, sums, shape, is_coalesced=True, check_invariants=False)
        return sums, None, None, None, None
