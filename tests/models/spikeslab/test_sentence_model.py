from __future__ import annotations

import numpy as np
import pytest

from gossamer.metrics.sparsity import average_hoyer
from gossamer.models.spikeslab.sentence_model import hoyer_of_set


def test_average_hoyer_is_defined_for_every_set():
    codes = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    assert hoyer_of_set(codes) == pytest.approx(average_hoyer(codes))
    constant = np.hstack([codes, np.full((20, 1), 3, dtype=np.float32)])
    assert np.isfinite(hoyer_of_set(constant))
    assert hoyer_of_set(codes[:1]) > 0
    assert hoyer_of_set(np.zeros((3, 4), dtype=np.float32)) == 0
    assert hoyer_of_set(np.ones((3, 1), dtype=np.float32)) == 0
