from __future__ import annotations

import pytest
import torch

from gossamer.models.embeddings.rivals.group_lasso import GroupLassoEmbedding


def test_the_penalty_is_the_sum_of_row_lengths():
    table = GroupLassoEmbedding(2, 2, num_kept=1, strength=0.5)
    with torch.no_grad():
        table.vectors.copy_(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    penalty = table.penalty()
    assert penalty.item() == 2.5
    penalty.backward()
    assert table.vectors.grad is not None
    torch.testing.assert_close(table.vectors.grad, torch.tensor([[0.3, 0.4], [0.0, 0.0]]))


def test_only_the_informative_rows_survive():
    ids = torch.arange(30)
    targets = torch.where(ids % 3 == 0, torch.where(ids % 2 == 0, 1.0, -1.0), 0.0)
    table = GroupLassoEmbedding(30, 4, num_kept=10, strength=0.3)
    optimiser = torch.optim.Adam(table.parameters(), lr=0.02)
    for _ in range(200):
        optimiser.zero_grad()
        loss = (table(ids).sum(dim=1) - targets).square().sum() + table.penalty()
        loss.backward()
        optimiser.step()
    before = table(ids).sum(dim=1).detach()
    table.finish()
    assert table.kept.tolist() == list(range(0, 30, 3))
    # The unused rows had shrunk to nothing, so cutting them changes nothing.
    torch.testing.assert_close(table(ids).sum(dim=1), before, atol=0.1, rtol=0)
    assert table.penalty().item() == 0


def test_a_negative_strength_is_refused():
    with pytest.raises(ValueError, match="strength must be a finite number >= 0, got -1"):
        GroupLassoEmbedding(5, 2, num_kept=1, strength=-1)
