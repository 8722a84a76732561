"""From what a caller has (LabelledArrays, Counts, an array, a sparse matrix, a table) to checked rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor

from gossamer.core.topk import batch_rows
from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts

BINARISATIONS = ("none", "threshold", "dynamic")
THRESHOLD = 0.5


class Rows:
    """Observations as float32, dense or sparse as they came; a batch is always dense."""

    def __init__(self, values: np.ndarray | sparse.csr_array) -> None:
        self.values = values

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, rows: Int[np.ndarray, " B"] | slice) -> Float[Tensor, "B D"]:
        """Return some of the rows."""
        chosen = self.values[rows]
        if not isinstance(chosen, np.ndarray):
            return torch.from_numpy(chosen.toarray())
        return torch.from_numpy(chosen if chosen.flags.writeable else chosen.copy())  # torch has no read-only tensors

    def blocks(self) -> Iterator[Float[Tensor, "B D"]]:
        """Yield all rows, as many at a time as memory allows."""
        size = batch_rows(max(1, self.values.shape[1]))
        for begin in range(0, len(self), size):
            yield self.take(slice(begin, begin + size))

    def column_sums(self) -> Float[np.ndarray, " D"]:
        """Return the sum of every column."""
        return np.asarray(self.values.sum(axis=0, dtype=np.float64)).ravel()


def read_rows(estimator: BaseEstimator, data: Any, observation: str, *, reset: bool, name: str = "data") -> Rows:
    """Return the observations of `data`, checked; `reset` is scikit-learn's word for "learn the number of columns".

    Bytes are grey values: as "binary" observations they are divided by 255.
    """
    is_bytes = False
    if isinstance(data, LabelledArrays):
        is_bytes = data.inputs.dtype == np.uint8
        given: Any = data.inputs.reshape(len(data), -1)
    elif isinstance(data, Counts):
        given = data.matrix
    else:
        if not (sparse.issparse(data) or isinstance(data, list | tuple) or hasattr(data, "__array__")):
            raise ValueError(
                f"{name} must be LabelledArrays, got {type(data).__name__}; "
                "Counts, a sparse matrix, an array or a table will do, too"
            )
        given = data
        is_bytes = getattr(data, "dtype", None) == np.uint8
    values = validate_data(
        estimator, given, accept_sparse="csr", dtype=np.float32, ensure_all_finite=False, reset=reset
    )
    if sparse.issparse(values):
        values = sparse.csr_array(values)
    if is_bytes and observation == "binary":
        values = values / np.float32(255)
    _check_values(name, values, observation)
    return Rows(values)


def binarise(x: Float[Tensor, "B D"], how: str, generator: torch.Generator) -> Float[Tensor, "B D"]:
    """Return grey values as they are, as x > 0.5, or drawn anew with probability x."""
    if how == "threshold":
        return (x > THRESHOLD).to(x.dtype)
    return torch.bernoulli(x, generator=generator) if how == "dynamic" else x


def _check_values(name: str, values: np.ndarray | sparse.csr_array, observation: str) -> None:
    """Say where a value is that the observation cannot have."""
    numbers: np.ndarray = values if isinstance(values, np.ndarray) else values.data
    if not np.isfinite(numbers).all():
        _refuse(name, "finite values, neither NaN nor inf", values, ~np.isfinite(numbers))
    if observation == "real":
        return
    if (numbers < 0).any():
        wanted = "values >= 0"  # and scikit-learn's own words, which its checks look for
        _refuse(name, wanted, values, numbers < 0, f". Negative values in data are not {observation}")
    if observation == "binary" and (numbers > 1).any():
        _refuse(name, "values in [0, 1] with observation='binary'", values, numbers > 1)
    if observation == "counts" and (numbers != np.rint(numbers)).any():
        _refuse(name, "whole numbers with observation='counts'", values, numbers != np.rint(numbers))


def _refuse(name: str, wanted: str, values: np.ndarray | sparse.csr_array, is_bad: np.ndarray, more: str = "") -> None:
    first = int(np.argmax(is_bad.ravel()))
    if isinstance(values, np.ndarray):
        row, column = divmod(first, values.shape[1])
        value = values[row, column]
    else:
        row = int(np.searchsorted(values.indptr, first, side="right")) - 1
        column, value = int(values.indices[first]), values.data[first]
    raise ValueError(f"{name} must hold {wanted}, got {value} in row {row}, column {column}{more}")
