"""The compact Hessian equals BFGS updates one by one, and stays definite under noise."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.lowrank.limited_memory import LimitedMemoryHessian


def test_compact_form_is_the_recursion():
    rng = np.random.default_rng(0)
    curved = np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.1
    hessian = LimitedMemoryHessian(5, memory=10)
    steps = rng.normal(size=(4, 5))
    for step in steps:
        assert hessian.update(step, curved @ step)
    dense = hessian.curvature * np.eye(5)
    for step in steps:
        change = curved @ step
        dense += np.outer(change, change) / (change @ step) - np.outer(dense @ step, dense @ step) / (
            step @ dense @ step
        )
    np.testing.assert_allclose(hessian.matrix(), dense, atol=1e-9)


@given(st.integers(0, 1000))
def test_noise_leaves_it_positive_definite(seed):
    rng = np.random.default_rng(seed)
    hessian = LimitedMemoryHessian(6, memory=4)
    for _ in range(8):
        hessian.update(rng.normal(size=6), rng.normal(size=6))
    assert np.linalg.eigvalsh(hessian.matrix()).min() > 0


def test_useless_pairs_are_left_out():
    hessian = LimitedMemoryHessian(2)
    assert not hessian.update(np.zeros(2), np.ones(2))
    assert not hessian.update(np.ones(2), np.array([np.nan, 0.0]))
    np.testing.assert_array_equal(hessian.matrix(), np.eye(2))
