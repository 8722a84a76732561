from __future__ import annotations

import pytest
import torch

from gossamer.models.embeddings.rivals.low_rank import LowRankEmbedding, low_rank_factors


def test_rows_and_scores_are_those_of_the_product() -> None:
    table = LowRankEmbedding(20, 6, rank=2).double()
    whole = (table.left @ table.right).detach()
    ids = torch.tensor([4, 19, 4])
    torch.testing.assert_close(table.rows(ids), whole[ids])
    hidden = torch.randn(5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(table.logits(hidden), hidden @ whole.T)
    # gradcheck moves the parameters themselves, in place
    assert torch.autograd.gradcheck(lambda *_: table(torch.arange(20)), tuple(table.parameters()))


def test_converting_is_the_best_possible() -> None:
    weight = torch.randn(30, 8, generator=torch.Generator().manual_seed(0))
    singular = torch.linalg.svdvals(weight)
    for rank in (1, 3, 8):
        error = (LowRankEmbedding.from_pretrained(weight, rank=rank).weight - weight).square().sum()
        torch.testing.assert_close(error, singular[rank:].square().sum(), atol=1e-4, rtol=1e-4)


def test_new_tables_have_the_scale_of_all_tables() -> None:
    assert float(LowRankEmbedding(3000, 40, rank=20).weight.std()) == pytest.approx(0.1, rel=0.15)


def test_a_ratio_takes_the_largest_rank_that_fits() -> None:
    table = LowRankEmbedding(1000, 64, ratio=10)
    assert table.rank == 6
    assert 7 * (1000 + 64) > 6400


def test_ranks_beyond_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="rank must be an integer >= 1 and <= 6, got 7"):
        LowRankEmbedding(20, 6, rank=7)


def test_factors_share_the_singular_values() -> None:
    left, right = low_rank_factors(torch.diag(torch.tensor([9.0, 4.0])), 2)
    torch.testing.assert_close(left.norm(dim=0), torch.tensor([3.0, 2.0]))
    torch.testing.assert_close(right.norm(dim=1), torch.tensor([3.0, 2.0]))
