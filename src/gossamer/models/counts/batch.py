"""Some rows of a matrix of counts as tensors, in compressed form: nothing here is ever as wide as the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import sparse
from torch import Tensor

from gossamer.data.content import Rows, row_numbers


@dataclass(frozen=True, eq=False)
class CountBatch:
    """B documents with N nonzero counts together; those of document d are offsets[d] … offsets[d + 1] − 1.

    `inputs` is what the encoder sees of each nonzero, such as tf-idf. `rows` says which rows of the data they are.
    """

    offsets: Int[Tensor, " B+1"]
    terms: Int[Tensor, " N"]
    counts: Float[Tensor, " N"]
    inputs: Float[Tensor, " N"]
    rows: Int[Tensor, " B"]
    num_terms: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def lengths(self) -> Float[Tensor, " B"]:
        """Return N_d, the number of words of each document."""
        return torch.zeros(len(self), dtype=self.counts.dtype, device=self.counts.device).index_add_(
            0, self.row_of_nonzero, self.counts
        )

    @cached_property
    def row_of_nonzero(self) -> Int[Tensor, " N"]:
        """Return the document, 0 … B − 1, of each nonzero."""
        numbers = torch.arange(len(self), device=self.offsets.device)
        return torch.repeat_interleave(numbers, self.offsets.diff(), output_size=len(self.terms))

    def to(self, device: torch.device | str) -> CountBatch:
        """Return the batch on `device`: itself, if it is there."""
        if self.counts.device == torch.device(device):
            return self
        return replace(
            self,
            offsets=self.offsets.to(device),
            terms=self.terms.to(device),
            counts=self.counts.to(device),
            inputs=self.inputs.to(device),
            rows=self.rows.to(device),
        )


def take_batch(matrix: sparse.csr_array, inputs: Float[np.ndarray, " nnz"], rows: Rows) -> CountBatch:
    """Return rows of `matrix`, in the order asked for, with the `inputs` that belong to its nonzeros.

    >>> matrix = sparse.csr_array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])
    >>> batch = take_batch(matrix, matrix.data, [2, 0])
    >>> batch.counts.tolist(), batch.lengths.tolist()
    ([3.0, 4.0, 1.0], [7.0, 1.0])
    """
    if inputs.shape != matrix.data.shape:
        raise ValueError(f"inputs must have one value per stored count {matrix.data.shape}, got shape {inputs.shape}")
    chosen = row_numbers(rows, matrix.shape[0])
    begins = matrix.indptr[chosen].astype(np.int64)
    sizes = matrix.indptr[chosen + 1] - begins
    offsets = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    positions = np.repeat(begins - offsets[:-1], sizes) + np.arange(offsets[-1])
    return CountBatch(
        offsets=torch.from_numpy(offsets),
        terms=torch.from_numpy(matrix.indices[positions].astype(np.int64)),
        counts=torch.from_numpy(matrix.data[positions].astype(np.float32)),
        inputs=torch.from_numpy(inputs[positions].astype(np.float32)),
        rows=torch.from_numpy(chosen),
        num_terms=int(matrix.shape[1]),
    )
