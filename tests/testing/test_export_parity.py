"""The comparison of graphs with models notices when they differ."""

from __future__ import annotations

import pytest
from scipy import sparse

from gossamer.models.linear import EASE
from gossamer.testing.export_parity import Session, all_scores, assert_close, padded
from gossamer.testing.right_answers import two_blocks

pytest.importorskip("onnxruntime")


def test_another_model_is_noticed():
    data = two_blocks().history
    session = Session(EASE(regularization=1.0).fit(data))
    ids, values = padded(data.matrix())
    other = EASE(regularization=20.0).fit(data)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_close(session(items=ids, values=values)["scores"], all_scores(other, data), 1e-5)


def test_padding():
    ids, values = padded(sparse.csr_array([[0.0, 2.0], [0.0, 0.0]]))
    assert ids.tolist() == [[1, -1], [-1, -1]]
    assert values.tolist() == [[2.0, 0.0], [0.0, 0.0]]
