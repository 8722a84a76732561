from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.embeddings.rivals.tensor_train import (
    TensorTrainEmbedding,
    ranks_between,
    split_matrix,
    split_vocabulary,
)


@given(st.integers(1, 10**7))
def test_factors_hold_the_vocabulary_and_little_more(num_embeddings: int) -> None:
    v1, v2, v3 = split_vocabulary(num_embeddings)
    assert v1 * v2 * v3 >= num_embeddings
    assert v1 * v2 * v3 <= num_embeddings + v1 * v2 + v1 * max(v2, v3)
    assert max(v1, v2, v3) <= 2 * num_embeddings ** (1 / 3) + 1


@pytest.mark.parametrize("width_factors", [None, (2, 3, 4)])
def test_a_table_that_is_a_tensor_train_is_found_exactly(width_factors: tuple[int, int, int] | None) -> None:
    table = TensorTrainEmbedding(1000, 24, rank=4, width_factors=width_factors, random_state=1)
    again = TensorTrainEmbedding.from_pretrained(table.weight, rank=4, width_factors=width_factors)
    torch.testing.assert_close(again.weight, table.weight, atol=1e-5, rtol=1e-4)


def test_full_rank_loses_nothing() -> None:
    weight = torch.randn(27, 8, generator=torch.Generator().manual_seed(0))
    table = TensorTrainEmbedding.from_pretrained(weight, rank=9)
    torch.testing.assert_close(table.weight, weight, atol=1e-5, rtol=1e-5)


def test_scores_do_not_depend_on_how_they_are_made() -> None:
    hidden = torch.randn(40, 24, generator=torch.Generator().manual_seed(0))
    for rank in (2, 60):  # below the width core by core, above it through the table
        table = TensorTrainEmbedding(900, 24, rank=rank, padding_idx=3)
        torch.testing.assert_close(table.logits(hidden), hidden @ table.weight.T, atol=1e-5, rtol=1e-4)


def test_sizes_by_hand() -> None:
    table = TensorTrainEmbedding(1000, 12, rank=5, width_factors=(2, 3, 2))
    assert table.num_values() == 10 * 2 * 5 + 5 * 10 * 3 * 5 + 10 * 5 * 2
    assert ranks_between((10, 10, 10), (1, 1, 4), 99) == (10, 40)


def test_a_ratio_takes_the_largest_rank_that_fits() -> None:
    table = TensorTrainEmbedding(1000, 64, ratio=10)
    larger = TensorTrainEmbedding(1000, 64, rank=table.rank + 1)
    assert table.num_values() <= 6400 < larger.num_values()


def test_new_tables_have_the_scale_of_all_tables() -> None:
    assert float(TensorTrainEmbedding(8000, 32, rank=16).weight.std()) == pytest.approx(0.1, rel=0.3)


def test_sentences() -> None:
    with pytest.raises(ValueError, match=r"width_factors must be three integers whose product is 12, got \[2, 3, 3\]"):
        TensorTrainEmbedding(100, 12, rank=2, width_factors=(2, 3, 3))
    with pytest.raises(ValueError, match="width_factors must be an integer >= 1, got 0"):
        TensorTrainEmbedding(100, 12, rank=2, width_factors=(0, 3, 3))
    with pytest.raises(ValueError, match="rank must be an integer >= 1 and <= 25, got 26"):
        TensorTrainEmbedding(100, 12, rank=26)


@pytest.mark.parametrize("shape", [(7, 30), (30, 7)])
def test_splitting_a_matrix_is_the_truncated_svd(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    left, right = split_matrix(matrix, 3)
    torch.testing.assert_close(left.T @ left, torch.eye(3), atol=1e-5, rtol=1e-5)
    error = (left @ right - matrix).square().sum()
    torch.testing.assert_close(error, torch.linalg.svdvals(matrix)[3:].square().sum(), atol=1e-4, rtol=1e-4)
