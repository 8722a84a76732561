"""Vectors of a stored anchor table in NumPy alone: what a service needs to look up ids, without torch.

This lies beside the artifact rather than in `models/embeddings`, because importing that room imports torch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from jaxtyping import Float, Float32, Integer
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gossamer.core.atomic import replacing_file
from gossamer.persistence.atomic import look_inside
from gossamer.persistence.config import CONFIG_FILE, TENSOR_FILE, check_listing, read_config
from gossamer.persistence.errors import ArtifactError
from gossamer.persistence.files import check_file, checked_size
from gossamer.persistence.stored_arrays import check_array
from gossamer.persistence.tensors import read_tensors, storable_array, write_tensors

PARTS = ("anchors", "values", "columns", "indptr")


@dataclass(frozen=True)
class NumpyTable:
    """V vectors E = T·A: row i is the sum of values[j] · anchors[columns[j]] for j from indptr[i] to indptr[i + 1].

    >>> table = NumpyTable(
    ...     anchors=np.eye(2, dtype=np.float32),
    ...     values=np.array([1.0, 2.0], np.float32),
    ...     columns=np.array([0, 1], np.uint8),
    ...     indptr=np.array([0, 2, 2], np.int32),
    ... )
    >>> table.rows([0, 1]).tolist()  # the second row has no entries
    [[1.0, 2.0], [0.0, 0.0]]
    """

    anchors: Float32[np.ndarray, "K D"]
    values: Float32[np.ndarray, " E"]
    columns: Integer[np.ndarray, " E"]
    indptr: Integer[np.ndarray, " V1"]

    def __post_init__(self) -> None:
        _check_parts({name: getattr(self, name) for name in PARTS})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str | None = None) -> Self:
        """Return a table from `AnchorEmbedding.stored()`, or from an artifact's arrays, where it may have a name.

        The arrays of the table `items` are called `items.anchors`, `items.values` and so on; where there is only one
        table it need not be named.
        """
        names = table_names(arrays)
        if name is None and len(names) == 1:
            name = names[0]
        if name not in names:
            found = ", ".join(map(repr, names)) or "none"
            raise ValueError(f"name must be that of an anchor table, one of {found}; got {name!r}")
        prefix = f"{name}." if name else ""
        return cls(**{part: arrays[prefix + part] for part in PARTS})

    @classmethod
    def load(cls, path: str | os.PathLike[str], name: str | None = None) -> Self:
        """Return a table from an artifact's directory (its checksum verified) or from a safetensors file."""
        arrays = look_inside(Path(os.path.realpath(path)), _read_arrays)
        try:
            return cls.from_arrays(arrays, name)
        except ValueError as error:
            raise ArtifactError(f"{path} cannot be looked up: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the four arrays into one safetensors file, whole or not at all."""
        with replacing_file(Path(path)) as temporary:
            write_tensors(temporary, {part: storable_array(part, getattr(self, part)) for part in PARTS})

    @property
    def shape(self) -> tuple[int, int]:
        """V and D."""
        return len(self.indptr) - 1, self.anchors.shape[1]

    def rows(self, ids: Any) -> Float32[np.ndarray, "... D"]:
        """Return one vector per id, for ids of any shape."""
        wanted = self._check_ids(ids)
        flat = wanted.reshape(-1)
        starts = self.indptr[flat].astype(np.int64)
        lengths = self.indptr[flat + 1] - starts
        ends = np.cumsum(lengths)
        # Entry j of the answer is entry j − (entries of earlier ids) of its own row.
        entries = np.arange(lengths.sum()) + np.repeat(starts - (ends - lengths), lengths)
        codes = csr_array(
            (self.values[entries], self.columns[entries].astype(np.int32), np.concatenate([[0], ends])),
            shape=(len(flat), len(self.anchors)),
        )
        vectors: np.ndarray = codes @ self.anchors
        return vectors.reshape(*wanted.shape, self.anchors.shape[1])

    def logits(self, hidden: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B V"]:
        """Return hidden · Eᵀ by way of the anchors: hidden · Aᵀ first, then the sparse T."""
        scores: np.ndarray = (self.transform() @ (self.anchors @ hidden.T)).T
        return scores

    def transform(self) -> csr_array:
        """Return T (V, K)."""
        return csr_array((self.values, self.columns.astype(np.int32), self.indptr), (self.shape[0], len(self.anchors)))

    def _check_ids(self, ids: Any) -> NDArray[np.int64]:
        wanted = np.asarray(ids)
        if wanted.size == 0:
            return wanted.astype(np.int64)
        if wanted.dtype.kind not in "iu":
            raise ValueError(f"ids must be integers, got {wanted.dtype}")
        low, high = int(wanted.min()), int(wanted.max())
        if low < 0 or high >= self.shape[0]:
            raise ValueError(f"ids must be from 0 to {self.shape[0] - 1}, got {low if low < 0 else high}")
        return wanted.astype(np.int64)


def table_names(arrays: Mapping[str, object]) -> list[str]:
    """Return the names of the anchor tables among an artifact's arrays; a table without a name is called "".

    >>> table_names({"items.anchors": 0, "items.values": 0, "items.columns": 0, "items.indptr": 0, "mean": 0})
    ['items']
    """
    prefixes = [name.removesuffix("anchors") for name in arrays if name == "anchors" or name.endswith(".anchors")]
    return sorted(prefix.removesuffix(".") for prefix in prefixes if all(prefix + part in arrays for part in PARTS))


def _check_parts(arrays: dict[str, NDArray[Any]]) -> None:
    anchors = check_array(arrays, "anchors", np.float32, (None, None))
    values = check_array(arrays, "values", np.float32, (None,))
    columns = check_array(arrays, "columns", None, (len(values),))
    indptr = check_array(arrays, "indptr", None, (None,))
    for name in ("columns", "indptr"):
        if arrays[name].dtype.kind not in "iu":
            raise ValueError(f"array {name!r} must hold integers, got {arrays[name].dtype}")
    for name in ("anchors", "values"):
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"array {name!r} must be finite, got NaN or infinity")
    if len(indptr) < 2 or indptr[0] != 0 or indptr[-1] != len(values) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"array 'indptr' must rise from 0 to {len(values)} over at least one row")
    if len(columns) and not (int(columns.min()) >= 0 and int(columns.max()) < len(anchors)):
        raise ValueError(
            f"array 'columns' must lie in 0..{len(anchors) - 1}, got {int(columns.min())}..{int(columns.max())}"
        )


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_dir():
        checked_size(path)
        return read_tensors(path)
    size, sha256 = check_listing(path / CONFIG_FILE, read_config(path / CONFIG_FILE))[TENSOR_FILE]
    check_file(path / TENSOR_FILE, size, sha256)
    return read_tensors(path / TENSOR_FILE)
