"""The published size of the problem: MovieLens-1M ratings, random 80/10/10, as ratings-ml1m runs it."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.data.interactions import HeldOut
from gossamer.models.linear import BiasedMF


@pytest.mark.data
@pytest.mark.slow
def test_movielens_ratings_are_predicted_as_well_as_they_should_be():
    data = datasets.load("ml-1m")
    part = np.random.default_rng(0).random(data.nnz)
    train = data.keep(part < 0.8)
    valid = HeldOut(train, data.keep((part >= 0.8) & (part < 0.9)))
    test = HeldOut(train, data.keep(part >= 0.9))
    biases = BiasedMF(num_factors=0).fit(train, valid)
    assert biases.num_values() == 1 + data.num_users + data.num_items
    assert biases.evaluate(test)["mse"] <= 0.827
    assert BiasedMF().fit(train, valid).evaluate(test)["mse"] <= 0.745
