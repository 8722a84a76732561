"""What an estimator's `restore` needs: arrays checked against what was expected, CSR matrices as dense arrays."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array


def check_names(arrays: Mapping[str, object], names: set[str], what: str = "arrays") -> None:
    """Raise a ValueError unless `arrays` holds exactly `names`.

    >>> check_names({"weights": 1}, {"weights", "bias"})
    Traceback (most recent call last):
    ValueError: arrays must be named bias, weights, got weights
    """
    if set(arrays) != names:
        raise ValueError(f"{what} must be named {_listed(names)}, got {_listed(arrays)}")


def check_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    dtype: DTypeLike | None = None,
    shape: tuple[int | None, ...] | None = None,
) -> NDArray[Any]:
    """Return `arrays[name]`, or raise a ValueError where it is missing or not of this dtype and shape.

    None means any: any dtype, any shape, or any length along one axis.

    >>> arrays = {"weights": np.zeros((2, 3), np.float32)}
    >>> check_array(arrays, "weights", np.float32, (None, 3)).shape
    (2, 3)
    >>> check_array(arrays, "weights", np.float32, (None, 4))
    Traceback (most recent call last):
    ValueError: array 'weights' must have shape (any, 4), got (2, 3)
    """
    if name not in arrays:
        raise ValueError(f"arrays must include {name!r}, got {_listed(arrays)}")
    array = arrays[name]
    if dtype is not None and array.dtype != np.dtype(dtype):
        raise ValueError(f"array {name!r} must be {np.dtype(dtype)}, got {array.dtype}")
    if shape is not None and not (
        len(shape) == array.ndim and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    ):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"array {name!r} must have shape ({wanted}), got {array.shape}")
    return array


def is_mapped(array: NDArray[Any]) -> bool:
    """Whether an array lies in the pages of a file, as those of `read_tensors(…, mapped=True)` do."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap.mmap)


def own_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that its taker may keep and write to: itself in the private pages of a file, else a copy.

    >>> array = np.zeros(2)
    >>> own_array(array) is array
    False
    """
    return array if is_mapped(array) and array.flags.writeable else np.array(array)


def pack_csr(name: str, matrix: csr_array) -> dict[str, NDArray[Any]]:
    """Return `matrix` as the dense arrays `name.data`, `name.indices`, `name.indptr` and `name.shape`.

    Safetensors has no sparse layout. The matrix is stored with sorted columns and without duplicates;
    the fourth, tiny array is there because three do not tell the number of columns.
    """
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices,
        f"{name}.indptr": matrix.indptr,
        f"{name}.shape": np.array(matrix.shape, np.int64),
    }


def unpack_csr(name: str, arrays: Mapping[str, NDArray[Any]]) -> csr_array:
    """Return the matrix that `pack_csr` stored, or raise a ValueError where the arrays are no CSR matrix.

    >>> matrix = csr_array(np.eye(2, 3, dtype=np.float32))
    >>> unpack_csr("codes", pack_csr("codes", matrix)).toarray().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    num_rows, num_columns = check_array(arrays, f"{name}.shape", np.int64, (2,)).tolist()
    if num_rows < 0 or num_columns < 0:
        raise ValueError(f"array '{name}.shape' must not be negative, got [{num_rows}, {num_columns}]")
    data = check_array(arrays, f"{name}.data", None, (None,))
    indices = check_array(arrays, f"{name}.indices", None, (len(data),))
    indptr = check_array(arrays, f"{name}.indptr", indices.dtype, (num_rows + 1,))
    if indices.dtype not in (np.int32, np.int64):
        raise ValueError(f"array '{name}.indices' must be int32 or int64, got {indices.dtype}")
    lengths = np.diff(indptr)
    if indptr[0] != 0 or indptr[-1] != len(indices) or (lengths < 0).any():
        raise ValueError(f"array '{name}.indptr' must rise from 0 to {len(indices)}")
    if len(indices) and not (indices.min() >= 0 and indices.max() < num_columns):
        raise ValueError(
            f"array '{name}.indices' must lie in 0..{num_columns - 1}, got {indices.min()}..{indices.max()}"
        )
    # Neighbours inside a row must rise; where a row begins, they need not.
    rises = np.diff(indices) > 0
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    if not rises.all():
        raise ValueError(f"array '{name}.indices' must rise inside each row, without duplicates")
    return csr_array((data, indices, indptr), shape=(num_rows, num_columns))


def _listed(names: object) -> str:
    return ", ".join(sorted(map(str, names))) or "none"  # type: ignore[call-overload]
