from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from gossamer.models.counts.batch import take_batch


def documents(num_rows=6, num_terms=5, seed=0):
    counts = np.random.default_rng(seed).poisson(0.8, (num_rows, num_terms)).astype(np.float32)
    counts[1] = 0
    return sparse.csr_array(counts)


def dense(batch, values):
    made = torch.zeros(len(batch), batch.num_terms)
    made[batch.row_of_nonzero, batch.terms] = values
    return made.numpy()


@given(st.lists(st.integers(0, 5), max_size=12))
def test_a_batch_is_the_rows_asked_for_in_their_order(rows):
    matrix = documents()
    batch = take_batch(matrix, 10 * matrix.data, rows)
    expected = matrix.toarray()[np.array(rows, dtype=int)]
    assert len(batch) == len(rows)
    assert batch.rows.tolist() == rows
    np.testing.assert_array_equal(dense(batch, batch.counts), expected)
    np.testing.assert_array_equal(dense(batch, batch.inputs), 10 * expected)
    np.testing.assert_array_equal(batch.lengths.numpy(), expected.sum(axis=1))
    assert batch.offsets.diff().tolist() == [int(np.count_nonzero(row)) for row in expected]


def test_types_are_the_promised_ones():
    matrix = sparse.csr_array(documents().astype(np.int16))
    batch = take_batch(matrix, matrix.data.astype(np.float64), np.array([3, 2], dtype=np.int32))
    assert {part.dtype for part in (batch.offsets, batch.terms, batch.rows, batch.row_of_nonzero)} == {torch.int64}
    assert {part.dtype for part in (batch.counts, batch.inputs, batch.lengths)} == {torch.float32}


def test_a_batch_does_not_share_the_memory_of_the_data():
    matrix = documents()
    before = matrix.data.copy()
    take_batch(matrix, matrix.data, slice(None)).counts.zero_()
    np.testing.assert_array_equal(matrix.data, before)


def test_other_counts_have_other_lengths():
    matrix = documents()
    batch = take_batch(matrix, matrix.data, slice(None))
    first = batch.lengths
    assert torch.allclose(replace(batch, counts=batch.counts / 2).lengths, first / 2)


def test_to_where_it_is_returns_itself():
    matrix = documents()
    batch = take_batch(matrix, matrix.data, [0])
    assert batch.to("cpu") is batch
    moved = batch.to("meta")
    assert moved.counts.device.type == moved.offsets.device.type == "meta"
    assert (len(moved), moved.num_terms) == (1, 5)


def test_bad_arguments():
    matrix = documents()
    with pytest.raises(ValueError, match="rows must lie in 0 … 5, got 6"):
        take_batch(matrix, matrix.data, [6])
    with pytest.raises(ValueError, match="inputs must have one value per stored count"):
        take_batch(matrix, matrix.data[:-1], [0])
