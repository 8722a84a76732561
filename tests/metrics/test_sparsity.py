"""Sparsity measures against their definitions and the invariances of Hoyer's measure."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from gossamer.metrics.sparsity import average_hoyer, hoyer, l0

CODES = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=st.floats(-10, 10))


def brute_force_hoyer(code: list[float]) -> float:
    root = math.sqrt(len(code))
    return (root - sum(map(abs, code)) / math.sqrt(sum(value * value for value in code))) / (root - 1)


def test_hoyer_equals_the_formula():
    codes = np.random.default_rng(0).normal(size=(20, 7))
    np.testing.assert_allclose(hoyer(codes), [brute_force_hoyer(code) for code in codes.tolist()])


def test_average_hoyer_equals_the_papers_procedure():
    rng = np.random.default_rng(1)
    codes = rng.normal(size=(50, 8)) * (rng.random((50, 8)) < 0.4) * np.logspace(-3, 3, 8)
    codes[:, 2] = 0  # a dimension that is always off
    codes = codes[codes.any(axis=1)]
    deviation = codes.std(axis=0)
    deviation[2] = 1
    expected = np.mean([brute_force_hoyer(code) for code in (codes / deviation).tolist()])
    assert average_hoyer(codes) == pytest.approx(expected)


@given(CODES, st.floats(1e-200, 1e200))
def test_hoyer_lies_in_the_unit_interval_whatever_the_scale(codes, scale):
    codes = np.where(np.abs(codes) < 1e-6, 0, codes)
    values = hoyer(codes)
    assert np.isnan(values[~codes.any(axis=1)]).all()
    defined = values[codes.any(axis=1)]
    assert ((defined >= 0) & (defined <= 1)).all()
    np.testing.assert_allclose(hoyer(codes * scale), values, atol=1e-9)


@given(CODES)
def test_average_hoyer_does_not_change_with_the_scale_of_a_dimension(codes):
    codes = np.round(codes, 3)
    assume(not ((codes == codes[0]).all(axis=0) & (codes[0] != 0)).any())
    scaled = codes * np.logspace(-100, 100, codes.shape[1])
    np.testing.assert_allclose(average_hoyer(scaled), average_hoyer(codes), atol=1e-9)


def test_one_nonzero_is_sparsest_and_equal_magnitudes_densest():
    np.testing.assert_array_equal(hoyer(np.eye(5)), np.ones(5))
    np.testing.assert_allclose(hoyer(np.array([[2.0, -2.0, 2.0]])), [0], atol=1e-12)


def test_codes_of_zeros_are_left_out_of_the_average():
    assert average_hoyer(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])) == 1
    assert math.isnan(average_hoyer(np.zeros((3, 2))))


def test_l0_counts_values_above_the_threshold():
    codes = np.array([[0.0, -0.2, 0.05], [1.0, 1.0, 1.0]], dtype=np.float32)
    np.testing.assert_array_equal(l0(codes), [2, 3])
    np.testing.assert_array_equal(l0(codes, threshold=0.1), [1, 3])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: l0(np.zeros(3)), r"codes must have the shape \(N, D\), got \(3,\)"),
        (lambda: l0(np.zeros((1, 3)), threshold=-1.0), "threshold must be a finite number >= 0, got -1.0"),
        (lambda: l0(np.full((1, 3), np.nan)), "codes must be finite, got nan"),
        (lambda: hoyer(np.zeros((4, 1))), "codes must have at least 2 dimensions, got 1"),
        (lambda: average_hoyer(np.zeros((0, 2))), "codes must have at least one row, got 0"),
        (lambda: average_hoyer(np.array([[1.0, 5.0], [2.0, 5.0]])), "got 5.0 in every row of dimension 1"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_mistakes_are_answered_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
