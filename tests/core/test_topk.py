from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from gossamer.core.topk import batch_rows, top_n


def brute_force(scores: np.ndarray, n: int, excluded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    items = np.full((len(scores), n), -1)
    values = np.full((len(scores), n), -np.inf, dtype=np.float32)
    for row in range(len(scores)):
        candidates = [i for i in range(scores.shape[1]) if scores[row, i] > -np.inf and not excluded[row, i]]
        best = sorted(candidates, key=lambda item: (-scores[row, item], item))[:n]
        items[row, : len(best)] = best
        values[row, : len(best)] = scores[row, best]
    return items, values


# Few different values, so that ties are common; widths on both sides of the kernel's stretches of 128.
blocks = hnp.arrays(
    np.float32,
    st.tuples(st.integers(0, 4), st.sampled_from([1, 2, 7, 130, 300])),
    elements=st.sampled_from([0.0, 1.0, 2.0, -3.0, -np.inf, np.nan, np.inf]),
)


@given(blocks, st.integers(1, 12), st.randoms(use_true_random=False))
def test_equals_a_full_sort(scores, n, random):
    excluded = np.array([[random.random() < 0.3 for _ in row] for row in scores]).reshape(scores.shape)
    items, values = top_n(scores.copy(), n, sparse.csr_array(excluded))
    expected_items, expected_values = brute_force(scores, n, excluded)
    np.testing.assert_array_equal(items, expected_items)
    np.testing.assert_array_equal(values, expected_values)


def test_random_scores_without_exclusion():
    scores = np.random.default_rng(0).standard_normal((20, 1000)).astype(np.float32)
    items, values = top_n(scores, 100)
    np.testing.assert_array_equal(items, np.argsort(-scores, axis=1, kind="stable")[:, :100])
    np.testing.assert_array_equal(values, np.take_along_axis(scores, items, axis=1))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="n must be an integer >= 1, got 0"):
        top_n(np.zeros((1, 2), dtype=np.float32), 0)
    with pytest.raises(ValueError, match=r"exclude must have the shape of scores \(1, 2\), got \(2, 2\)"):
        top_n(np.zeros((1, 2), dtype=np.float32), 1, sparse.csr_array((2, 2)))


def test_batch_rows_keeps_within_the_budget():
    assert batch_rows(1000, bytes_budget=4000 * 7 + 1) == 7
    assert batch_rows(10**9, bytes_budget=1) == 1
    assert batch_rows(0, bytes_budget=400) == 100
