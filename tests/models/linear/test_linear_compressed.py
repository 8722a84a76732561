from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.models.linear.compressed import compressed


def test_arrays_have_fixed_types_and_share_the_long_ones():
    matrix = sparse.csr_array(np.eye(3, dtype=np.float32))
    indptr, indices, data = compressed(matrix)
    assert [array.dtype for array in (indptr, indices, data)] == [np.int64, np.int32, np.float32]
    assert np.shares_memory(data, matrix.data)
    assert not any(array.flags.writeable for array in (indptr, indices, data))
    assert matrix.data.flags.writeable
