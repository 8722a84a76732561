"""Slots of a batch against plain indexing, in value and gradient."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.embeddings import slot_kernels, slot_lookup
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.slot_lookup import look_up_slots
from gossamer.models.embeddings.slots import spread_slots


def a_transform(num_rows: int, num_slots: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    slots = torch.from_numpy(spread_slots(num_rows, 40, num_slots, 0))
    values = torch.rand(num_rows, num_slots, generator=torch.Generator().manual_seed(0)).to(dtype)
    return slots, values.requires_grad_()


@given(
    num_slots=st.integers(1, 5),
    ids=st.lists(st.integers(0, 8), max_size=12),
    sparse=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)
def test_what_is_looked_up_is_plain_indexing(num_slots, ids, sparse, dtype):
    slots, values = a_transform(9, num_slots, dtype)
    rows = torch.tensor(ids, dtype=torch.int64)
    near_slots, near_values = look_up_slots(slots, values, rows, sparse=sparse)
    assert torch.equal(near_slots.to(slots.dtype), slots[rows])
    assert torch.equal(near_values, values[rows])
    (gradient,) = torch.autograd.grad((near_values * (1 + near_slots)).sum(), values)
    (expected,) = torch.autograd.grad((values[rows] * (1 + slots[rows])).sum(), values)
    assert gradient.is_sparse == sparse
    torch.testing.assert_close(gradient.to_dense() if sparse else gradient, expected)


@pytest.mark.parametrize("num_parts", [1, 2, 3])
def test_threads_share_the_ids(monkeypatch, num_parts):
    monkeypatch.setattr(slot_kernels, "FEWEST_PER_THREAD", 2)
    monkeypatch.setattr(slot_kernels.numba, "get_num_threads", lambda: num_parts)
    slots, values = a_transform(50, 3)
    rows = torch.from_numpy(np.random.default_rng(0).integers(0, 50, 7))
    near_slots, near_values = look_up_slots(slots, values, rows, sparse=True)
    assert torch.equal(near_slots, slots[rows].to(torch.int32))
    assert torch.equal(near_values, values[rows])


def test_an_exported_table_has_torch_calls_alone(monkeypatch):
    monkeypatch.setattr(slot_lookup, "copy_slots", lambda *_: pytest.fail("compiled code inside a trace"))
    table = AnchorEmbedding(9, 4, 5, num_slots=3).requires_grad_(False)
    program = torch.export.export(table, (torch.tensor([1, 2, 3]),)).module()
    monkeypatch.undo()
    assert torch.equal(program(torch.tensor([3, 8, 0])), table(torch.tensor([3, 8, 0])))
