"""Genres day by day, where MovieLens-1M is on this machine."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets.movielens_genres import load_ml_1m_genres


@pytest.mark.data
def test_parts_grow_by_a_day():
    if datasets.locate("ml-1m-genres") is None:
        pytest.skip("MovieLens-1M is not on this machine")
    train, valid, test = (load_ml_1m_genres(part=part) for part in ("train", "valid", "test"))
    assert len(train) == len(test) > 500
    assert list(train.names) == list(test.names)
    assert (valid.lengths - train.lengths == 1).all()
    assert (test.lengths - valid.lengths == 1).all()
    assert len(train.vocabulary) == 18
    np.testing.assert_allclose(test.observations.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(test[:1].observations[: train.lengths[0]], train[:1].observations)
    ratings = load_ml_1m_genres(ratings=True)
    assert list(ratings.users) == list(train.names)


def test_bad_options_are_named():
    with pytest.raises(ValueError, match="min_days must be an integer >= 4, got 2"):
        load_ml_1m_genres(min_days=2)
    with pytest.raises(ValueError, match="ratings must be True or False, got 'pictures'"):
        load_ml_1m_genres(ratings="pictures")
