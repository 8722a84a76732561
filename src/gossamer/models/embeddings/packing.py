"""T in an artifact: nonzero weights, column numbers in the smallest integers that hold them, and row pointers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float32
from scipy import sparse


def pack_transform(transform: sparse.csr_array) -> dict[str, np.ndarray]:
    """Return the arrays `values`, `columns` and `indptr` of T."""
    pointers = transform.indptr
    return {
        "values": transform.data.astype(np.float32),
        "columns": transform.indices.astype(np.min_scalar_type(max(transform.shape[1] - 1, 0))),
        "indptr": pointers.astype(np.int32 if pointers[-1] <= np.iinfo(np.int32).max else np.int64),
    }


def unpack_transform(
    arrays: Mapping[str, np.ndarray], shape: tuple[int, int], embedding_dim: int, num_slots: int
) -> tuple[Float32[np.ndarray, "K D"], sparse.csr_array]:
    """Return anchors and T from an artifact's arrays, or name what is wrong with which of them."""
    names = {"anchors", "values", "columns", "indptr"}
    if set(arrays) != names:
        raise ValueError(f"arrays must be {sorted(names)}, got {sorted(arrays)}")
    num_rows, num_anchors = shape
    anchors, values, columns = arrays["anchors"], arrays["values"], arrays["columns"]
    pointers = arrays["indptr"].astype(np.int64)
    if anchors.shape != (num_anchors, embedding_dim):
        raise ValueError(f"anchors must have shape {(num_anchors, embedding_dim)}, got {anchors.shape}")
    if pointers.shape != (num_rows + 1,) or pointers[0] != 0 or (np.diff(pointers) < 0).any():
        raise ValueError(f"indptr must be {num_rows + 1} row pointers from 0 on, never falling")
    if len(values) != pointers[-1] or len(columns) != pointers[-1]:
        raise ValueError(f"values and columns must have {pointers[-1]} entries, got {len(values)} and {len(columns)}")
    if len(columns) and int(columns.max()) >= num_anchors:
        raise ValueError(f"columns must be below the {num_anchors} anchors, got {int(columns.max())}")
    if not (np.isfinite(anchors).all() and np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("anchors and values must be finite, values >= 0")
    if np.diff(pointers).max(initial=0) > num_slots:
        raise ValueError(f"indptr must give a row at most {num_slots} entries, got {np.diff(pointers).max()}")
    transform = sparse.csr_array((values, columns.astype(np.int32), pointers), shape=shape)
    if not transform.has_canonical_format:
        raise ValueError("columns must be distinct and rising within a row")
    return anchors.astype(np.float32), transform
