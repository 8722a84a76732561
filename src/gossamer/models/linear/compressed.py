"""Sparse matrices as the compiled loops take them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.data.content import read_only


def compressed(matrix: sparse.csr_array | sparse.csc_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (indptr, indices, data) as read-only int64, int32 and float32, without a copy of the long ones.

    Always the same types, so that each loop is compiled once and not anew for arrays that happen to be read-only.
    """
    return (
        read_only(matrix.indptr.astype(np.int64)),
        read_only(matrix.indices.astype(np.int32, copy=False)),
        read_only(matrix.data.astype(np.float32, copy=False)),
    )
