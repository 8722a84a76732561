"""The shape annotations are really checked while tests run, and not where a test switches them off."""

from __future__ import annotations

import jaxtyping
import numpy as np
import pytest

from gossamer.core.topk import top_n
from gossamer.metrics.rating import mse
from gossamer.metrics.sparsity import hoyer


@pytest.mark.parametrize(
    "call",
    [
        lambda: hoyer(np.zeros(3)),  # one dimension where two are annotated
        lambda: mse(np.zeros(2), np.zeros(3)),  # two lengths under one name
        lambda: top_n(np.zeros((2, 3), dtype=np.int64), 1),  # integers where floats are annotated
    ],
)
def test_wrong_shapes_are_caught(call):
    with pytest.raises(jaxtyping.TypeCheckError):
        call()


@pytest.mark.usefixtures("unchecked_shapes")
def test_users_get_a_sentence_instead():
    with pytest.raises(ValueError, match=r"codes must have the shape \(N, D\)"):
        hoyer(np.zeros(3))
