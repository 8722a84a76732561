from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.embeddings.rivals.matching_pursuit import fit_on_support, match_rows
from gossamer.models.embeddings.sparse_rows import code_rows


@given(st.integers(0, 1000), st.integers(1, 6))
def test_orthogonal_anchors_are_chosen_exactly(seed: int, num_slots: int):
    generator = np.random.default_rng(seed)
    anchors = np.linalg.qr(generator.normal(size=(6, 6)))[0] * generator.uniform(0.5, 2, (6, 1))
    weight = generator.normal(size=(3, 6))
    error = np.square(weight - match_rows(weight, anchors, num_slots) @ anchors).sum(axis=1)
    for row, own in zip(weight, error, strict=True):
        best = min(
            np.square(row - anchors[list(subset)].T @ np.linalg.lstsq(anchors[list(subset)].T, row)[0]).sum()
            for subset in combinations(range(6), num_slots)
        )
        assert own == pytest.approx(best, abs=1e-4 * float(row @ row))


def test_planted_signed_codes_are_found():
    generator = np.random.default_rng(0)
    anchors = generator.normal(size=(20, 40))
    codes = np.zeros((100, 20))
    for row in codes:
        row[generator.choice(20, 3, replace=False)] = generator.choice([-1, 1], 3) * generator.uniform(1, 2, 3)
    found = match_rows(codes @ anchors, anchors, 3).toarray()
    np.testing.assert_array_equal(found != 0, codes != 0)
    np.testing.assert_allclose(found, codes, atol=1e-2)


def test_the_exhaustive_search_is_only_a_little_better():
    generator = np.random.default_rng(0)
    weight, anchors = generator.normal(size=(200, 12)), generator.normal(size=(30, 12))

    def error(codes: np.ndarray) -> float:
        return float(np.square(weight - codes @ anchors).sum())

    greedy, searched = match_rows(weight, anchors, 4), code_rows(weight, anchors, 4, nonnegative=False)
    assert error(searched) <= error(greedy) <= 1.6 * error(searched)


def test_equal_anchors_share_the_weight():
    anchors = np.ones((2, 3))
    fitted = fit_on_support(anchors @ anchors.T, np.ones((1, 3)) @ anchors.T, np.array([[0, 1]]))
    np.testing.assert_allclose(fitted, [[0.5, 0.5]], atol=1e-3)
