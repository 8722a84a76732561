from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.embeddings.rivals.int8 import Int8Embedding, quantise_rows


@given(st.integers(0, 1000), st.floats(1e-6, 1e6))
def test_rounding_is_off_by_half_a_level_at_most(seed: int, size: float):
    vectors = torch.randn(5, 7, generator=torch.Generator().manual_seed(seed)) * size
    levels, scales = quantise_rows(vectors)
    assert ((levels * scales.unsqueeze(1) - vectors).abs() <= 0.501 * scales.unsqueeze(1)).all()
    assert (levels.abs().amax(dim=1) == 127).all()


def test_a_row_of_zeros_stays_zero():
    levels, scales = quantise_rows(torch.zeros(2, 3))
    assert not levels.any()
    assert not scales.any()


def test_lookups_are_rounded_before_and_after_finish_and_gradients_pass_through():
    table = Int8Embedding(10, 4)
    trained = table(torch.arange(10))
    trained.sum().backward()
    assert table.vectors.grad is not None
    assert (table.vectors.grad == 1).all()
    table.finish()
    torch.testing.assert_close(table.weight, trained.detach())
    table.finish()
    again = Int8Embedding(**table.config())
    again.restore(table.stored())
    torch.testing.assert_close(again.weight, table.weight)


def test_training_finds_what_rounding_cannot_spoil():
    targets = torch.randn(12, 5)
    table = Int8Embedding(12, 5, padding_idx=0)
    optimiser = torch.optim.Adam(table.parameters(), lr=0.05)
    for _ in range(200):
        optimiser.zero_grad()
        (table(torch.arange(12)) - targets).square().sum().backward()
        optimiser.step()
    table.finish()
    torch.testing.assert_close(table.weight[1:], targets[1:], atol=0.03, rtol=0)
    assert not table.weight[0].any()


def test_it_saves_bytes_and_no_values():
    table = Int8Embedding.from_pretrained(torch.randn(100, 64), ratio=3.7)
    assert table.nbytes() == 100 * 64 + 100 * 4
    assert table.num_values() == 100 * 64 + 100
    assert Int8Embedding(100, 64).num_values() == 100 * 64


def test_ratios_beyond_a_byte_are_refused():
    with pytest.raises(ValueError, match=r"ratio must be at most 3.76, what bytes and a scale per row save, got 20"):
        Int8Embedding(100, 64, ratio=20)
    with pytest.raises(ValueError, match=r"ratio must be a finite number >= 1, got 0.5"):
        Int8Embedding(100, 64, ratio=0.5)
