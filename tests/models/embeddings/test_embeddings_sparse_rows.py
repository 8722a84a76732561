"""Sparse codes against every support there is, on tiny problems; then properties, planted codes and bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse

from gossamer.models.embeddings.sparse_rows import code_rows, csr_of, fit_codes, slots_of


def objective(row: np.ndarray, anchors: np.ndarray, code: np.ndarray, charge: float) -> float:
    return float(np.square(row - code @ anchors).sum() + charge * np.count_nonzero(code))


def best_of_all_supports(row: np.ndarray, anchors: np.ndarray, num_slots: int, charge: float, signed: bool) -> float:
    best = float(np.square(row).sum())
    for size in range(1, num_slots + 1):
        for support in itertools.combinations(range(len(anchors)), size):
            chosen = anchors[list(support)].T
            code = np.linalg.lstsq(chosen, row, rcond=None)[0] if signed else optimize.nnls(chosen, row)[0]
            best = min(best, float(np.square(row - chosen @ code).sum()) + charge * np.count_nonzero(code))
    return best


def matching_pursuit(row: np.ndarray, anchors: np.ndarray, num_slots: int) -> float:
    """Plain non-negative orthogonal matching pursuit, without exchange or elimination."""
    support: list[int] = []
    residual = row
    for _ in range(num_slots):
        correlation = anchors @ residual / np.linalg.norm(anchors, axis=1)
        correlation[support] = -np.inf
        if correlation.max() <= 0:
            break
        support.append(int(correlation.argmax()))
        chosen = anchors[support].T
        residual = row - chosen @ optimize.nnls(chosen, row)[0]
    return float(np.square(residual).sum())


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("charge", [0.0, 0.5])
def test_codes_are_nearly_the_best_of_all_supports(signed: bool, charge: float):
    generator = np.random.default_rng(1)
    anchors, rows = generator.normal(size=(8, 8)), 2 * generator.normal(size=(60, 8))
    codes = code_rows(rows, anchors, 3, nonnegative=not signed, charge=charge).toarray()
    found = np.array([objective(row, anchors, code, charge) for row, code in zip(rows, codes, strict=True)])
    best = np.array([best_of_all_supports(row, anchors, 3, charge, signed) for row in rows])
    assert (found >= best - 1e-3).all()
    # Exchanging one column at a time can end short of the best of all.
    assert np.mean(found <= best * (1 + 1e-3) + 1e-3) >= 0.7
    assert found.mean() <= 1.1 * best.mean()


def test_codes_are_better_than_matching_pursuit():
    generator = np.random.default_rng(2)
    anchors, rows = generator.normal(size=(12, 6)), generator.normal(size=(80, 6))
    codes = code_rows(rows, anchors, 4).toarray()
    found = np.square(rows - codes @ anchors).sum(axis=1)
    plain = np.array([matching_pursuit(row, anchors, 4) for row in rows])
    assert np.mean(found <= plain + 1e-4) > 0.97
    assert found.mean() < 0.9 * plain.mean()


def test_orthonormal_anchors_are_coded_exactly():
    generator = np.random.default_rng(3)
    anchors = np.linalg.qr(generator.normal(size=(7, 7)))[0]
    rows = generator.normal(size=(50, 7))
    projected = rows @ anchors.T
    expected = np.where((projected > 0) & (projected**2 > 0.3), projected, 0)
    smallest = np.sort(expected, axis=1)[:, -3][:, None]
    expected[expected < smallest] = 0
    np.testing.assert_allclose(code_rows(rows, anchors, 3, charge=0.3).toarray(), expected, atol=1e-4)


@given(
    seed=st.integers(0, 10_000),
    num_anchors=st.integers(1, 9),
    width=st.integers(1, 5),
    num_slots=st.integers(1, 5),
    charge=st.sampled_from([0.0, 0.1, 2.0]),
    nonnegative=st.booleans(),
)
def test_codes_keep_their_constraints_and_never_lose_to_zero(seed, num_anchors, width, num_slots, charge, nonnegative):
    generator = np.random.default_rng(seed)
    anchors, rows = generator.normal(size=(num_anchors, width)), generator.normal(size=(6, width))
    codes = code_rows(rows, anchors, num_slots, nonnegative=nonnegative, charge=charge)
    again = code_rows(rows, anchors, num_slots, nonnegative=nonnegative, charge=charge, start=codes)
    assert np.diff(codes.indptr).max() <= num_slots
    if nonnegative:
        assert (codes.data > 0).all()
    gradient = (rows - codes @ anchors) @ anchors.T
    stationary = np.abs(gradient[codes.toarray() != 0])
    assert (stationary <= 1e-2 * (1 + np.abs(codes.data).max(initial=0))).all()
    before = [objective(row, anchors, code, charge) for row, code in zip(rows, codes.toarray(), strict=True)]
    after = [objective(row, anchors, code, charge) for row, code in zip(rows, again.toarray(), strict=True)]
    assert (np.array(before) <= np.square(rows).sum(axis=1) + 1e-4).all()
    assert (np.array(after) <= np.array(before) + 1e-3).all()


def test_planted_codes_are_found_again():
    generator = np.random.default_rng(4)
    anchors = generator.normal(size=(6, 8))
    planted = np.zeros((400, 6))
    for row in planted:
        row[generator.choice(6, 2, replace=False)] = generator.uniform(0.5, 1.5, 2)
    planted[:6] = np.eye(6)  # rows that are anchors themselves: the far points that k-means++ looks for
    # One start in six ends in another optimum, with 4 % of the variance left.
    fits = [fit_codes(planted @ anchors, 6, 2, sweeps=30, random_state=seed) for seed in range(3)]
    errors = [np.square(planted @ anchors - codes @ found).mean() for found, codes in fits]
    assert min(errors) < 1e-9
    assert max(errors) < 0.05 * np.square(planted @ anchors).mean()


def test_more_sweeps_fit_better_and_the_seed_decides():
    rows = np.random.default_rng(5).normal(size=(300, 10))
    errors = []
    for sweeps in (1, 4, 12):
        anchors, codes = fit_codes(rows, 20, 3, sweeps=sweeps, random_state=7)
        errors.append(np.square(rows - codes @ anchors).mean())
    assert errors[0] > errors[1] > errors[2]
    again = fit_codes(rows, 20, 3, sweeps=12, random_state=7)
    np.testing.assert_array_equal(again[0], anchors)
    np.testing.assert_array_equal(again[1].toarray(), codes.toarray())


def test_repeated_rows_and_zero_rows_are_coded():
    rows = np.repeat(np.array([[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]]), 20, axis=0)
    anchors, codes = fit_codes(rows, 5, 2)
    np.testing.assert_allclose(codes @ anchors, rows, atol=1e-4)


def test_slots_keep_the_largest_entries():
    codes = sparse.csr_array(np.array([[1.0, -3.0, 2.0], [0.0, 0.0, 0.0], [0.0, 4.0, 0.0]]))
    columns, values = slots_of(codes, 2)
    np.testing.assert_array_equal(columns, [[1, 2], [-1, -1], [1, -1]])
    np.testing.assert_array_equal(csr_of(columns, values, 3).toarray(), [[0, -3, 2], [0, 0, 0], [0, 4, 0]])


def test_bad_input_is_named():
    rows = np.ones((3, 2))
    with pytest.raises(ValueError, match="num_anchors must be an integer >= 1 and <= 3, got 4"):
        fit_codes(rows, 4, 1)
    with pytest.raises(ValueError, match="num_slots must be an integer >= 1, got 0"):
        code_rows(rows, rows, 0)
    with pytest.raises(ValueError, match="anchors must have the 2 columns of weight, got 5"):
        code_rows(rows, np.ones((3, 5)), 1)
    with pytest.raises(ValueError, match="weight must be finite, got NaN or infinity in row 1"):
        code_rows(np.array([[1.0], [np.nan]]), np.ones((1, 1)), 1)
    with pytest.raises(ValueError, match=r"start must have shape \(3, 3\), got \(1, 1\)"):
        code_rows(rows, rows, 1, start=sparse.csr_array(np.ones((1, 1))))
    with pytest.raises(ValueError, match="weight must be a matrix"):
        code_rows(np.ones(3), rows, 1)
