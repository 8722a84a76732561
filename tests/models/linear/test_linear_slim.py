from __future__ import annotations

import numpy as np

from gossamer.models.linear import SLIM
from gossamer.testing import oracles
from gossamer.testing.contracts import two_blocks


def test_weights_are_those_of_the_elastic_net():
    history = two_blocks().history
    model = SLIM(l1=0.5, l2=2.0, max_sweeps=1000, tolerance=1e-6).fit(history)
    expected = oracles.slim_weights(history.matrix().toarray().astype(float), 0.5, 2.0, nonnegative=True)
    np.testing.assert_allclose(model.weights_.toarray(), expected, atol=1e-4)


def test_more_l1_means_fewer_weights():
    history = two_blocks().history
    sizes = [SLIM(l1=l1, l2=1.0).fit(history).weights_.nnz for l1 in (0.1, 3.0, 1000.0)]
    assert sizes[0] >= sizes[1] > sizes[2] == 0


def test_weights_stay_inside_the_blocks():
    model = SLIM(l1=0.1, l2=1.0).fit(two_blocks().history)
    assert not model.weights_.toarray()[:6, 6:].any()
