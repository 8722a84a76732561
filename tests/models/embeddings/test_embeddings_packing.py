import numpy as np
import pytest
from scipy import sparse

from gossamer.models.embeddings.packing import pack_transform, unpack_transform

TRANSFORM = sparse.csr_array(np.array([[0, 2, 0], [1, 0, 3], [0, 0, 0]], dtype=np.float32))
ANCHORS = np.ones((3, 4), dtype=np.float32)


def arrays(**changes):
    return {"anchors": ANCHORS, **pack_transform(TRANSFORM), **changes}


def test_round_trip_in_few_bytes():
    packed = pack_transform(TRANSFORM)
    assert packed["columns"].dtype == np.uint8
    assert packed["indptr"].dtype == np.int32
    anchors, transform = unpack_transform(arrays(), (3, 3), 4, 2)
    assert np.array_equal(anchors, ANCHORS)
    assert np.array_equal(transform.toarray(), TRANSFORM.toarray())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"anchors": ANCHORS[:2]}, r"anchors must have shape \(3, 4\), got \(2, 4\)"),
        ({"anchors": ANCHORS * np.nan}, "anchors and values must be finite"),
        ({"values": np.array([1, -1, 1], dtype=np.float32)}, "values >= 0"),
        ({"values": np.ones(2, dtype=np.float32)}, "values and columns must have 3 entries, got 2 and 3"),
        ({"columns": np.array([0, 1, 7], dtype=np.uint8)}, "columns must be below the 3 anchors, got 7"),
        ({"columns": np.array([0, 1, 1], dtype=np.uint8)}, "columns must be distinct and rising within a row"),
        ({"indptr": np.array([0, 2, 1, 3])}, "indptr must be 4 row pointers from 0 on, never falling"),
        ({"indptr": np.array([0, 3, 3, 3]), "columns": np.arange(3)}, "at most 2 entries, got 3"),
        ({"more": ANCHORS}, "arrays must be"),
    ],
)
def test_hostile_arrays(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        unpack_transform(arrays(**changes), (3, 3), 4, 2)
