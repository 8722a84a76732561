import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from gossamer.models.embeddings.slots import csr_from_slots, slot_dtype, slots_from_csr, spread_slots


@given(st.integers(1, 20), st.integers(1, 40), st.data())
def test_spread_slots_are_distinct_and_in_range(num_rows, num_anchors, data):
    num_slots = data.draw(st.integers(1, num_anchors))
    slots = spread_slots(num_rows, num_anchors, num_slots, data.draw(st.integers(0, 9)))
    assert slots.shape == (num_rows, num_slots)
    assert (slots >= 0).all()
    assert (slots < num_anchors).all()
    assert all(len(set(row)) == num_slots for row in slots.tolist())


def test_small_integers_as_long_as_they_fit():
    assert slot_dtype(32_768) is np.int16
    assert slot_dtype(32_769) is np.int32
    assert spread_slots(50, 40_000, 2, 0).max() > 32_768


@given(st.integers(1, 8), st.integers(1, 9), st.integers(0, 9), st.data())
def test_a_transform_survives_its_slots(num_rows, num_anchors, seed, data):
    generator = np.random.default_rng(seed)
    dense = np.where(generator.random((num_rows, num_anchors)) < 0.4, generator.random((num_rows, num_anchors)), 0)
    transform = sparse.csr_array(dense.astype(np.float32))
    fullest = int(np.diff(transform.indptr).max())
    num_slots = data.draw(st.integers(max(1, fullest), num_anchors))
    slots, values = slots_from_csr(transform, num_slots, seed)
    assert all(len(set(row)) == num_slots for row in slots.tolist())
    assert np.array_equal(csr_from_slots(slots, values, num_anchors).toarray(), transform.toarray())


def test_too_full_a_row_is_named():
    with pytest.raises(ValueError, match="transform must have at most 1 entries in a row, got 2"):
        slots_from_csr(sparse.csr_array(np.ones((2, 2), dtype=np.float32)), 1)
