"""The lookup of ranked items among relevant ones against a dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from gossamer.metrics.hits import check_ranked, find_hits


@given(st.data())
def test_gains_are_the_entries_of_the_dense_matrix(data):
    num_rows, num_items = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 8))
    dense = data.draw(arrays(np.float64, (num_rows, num_items), elements=st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.5])))
    ranked = np.array([data.draw(st.permutations(range(num_items))) for _ in range(num_rows)])
    ranked[data.draw(arrays(np.bool_, ranked.shape))] = -1
    hits = find_hits(ranked, csr_array(dense))
    padded = np.concatenate([dense, np.zeros((num_rows, 1))], axis=1)  # column -1 is never relevant
    np.testing.assert_array_equal(hits.gains, np.take_along_axis(padded, ranked, axis=1))
    np.testing.assert_array_equal(hits.num_relevant, np.count_nonzero(dense, axis=1))


def test_stored_zeros_duplicates_and_unsorted_rows_are_read_as_scipy_reads_them():
    relevant = csr_array((np.array([1.0, 0.0, 2.0, 1.0]), np.array([3, 1, 0, 3]), np.array([0, 4])), shape=(1, 4))
    before = relevant.indices.copy()
    hits = find_hits(np.array([[0, 1, 2, 3]]), relevant)
    np.testing.assert_array_equal(hits.gains, [[2, 0, 0, 2]])
    np.testing.assert_array_equal(hits.num_relevant, [2])
    np.testing.assert_array_equal(relevant.indices, before)  # the caller's matrix is left alone


def test_pairs_are_told_apart_where_rows_times_items_exceed_32_bits():
    num_items = 2**31 - 1
    relevant = csr_array((np.ones(3), np.array([0, 5, num_items - 1]), np.array([0, 1, 2, 3])), shape=(3, num_items))
    ranked = np.array([[0, 5], [5, 0], [0, num_items - 1]], dtype=np.int32)
    np.testing.assert_array_equal(find_hits(ranked, relevant).gains, [[1, 0], [1, 0], [0, 1]])


def test_a_repeated_item_is_named_with_its_row():
    with pytest.raises(ValueError, match="ranked must hold an item once per row, got item 4 twice in row 1"):
        check_ranked(np.array([[1, 2, -1, -1], [4, 0, 4, -1]]), num_items=5)
