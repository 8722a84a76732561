from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.linear import ItemKNN
from gossamer.models.linear.functional import cosine_neighbours, weight_by_bm25, weight_by_idf
from gossamer.testing.contracts import two_blocks


@pytest.mark.parametrize(
    ("weighting", "weigh"), [("none", lambda matrix: matrix), ("tf-idf", weight_by_idf), ("bm25", weight_by_bm25)]
)
def test_fit_is_cosine_after_weighting(weighting, weigh):
    history = two_blocks().history
    model = ItemKNN(num_neighbours=2, shrinkage=1.0, weighting=weighting).fit(history)
    expected = cosine_neighbours(weigh(history.matrix()), 2, 1.0)
    np.testing.assert_array_equal(model.weights_.toarray(), expected.toarray())
    assert np.diff(model.weights_.indptr).max() == 2


def test_weighted_uses_ratings():
    history = two_blocks().history
    model = ItemKNN(weighting="none", weighted=True).fit(history)
    expected = cosine_neighbours(history.matrix("rating"), 100, 10.0)
    np.testing.assert_array_equal(model.weights_.toarray(), expected.toarray())
