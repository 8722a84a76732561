from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.models.embeddings.sizing import affordable, by_importance, check_one_size, normal_parameter


def test_exactly_one_of_size_and_ratio() -> None:
    check_one_size("rank", 3, None)
    check_one_size("rank", None, 2.0)
    with pytest.raises(ValueError, match="rank or ratio must be given, one of them alone, got rank=None and"):
        check_one_size("rank", None, None)


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 300))
@example(141, 3, 25)  # 423 / 16.92 is a little less than 25
@example(1_234_567, 7, 11)  # a ratio of eight digits must not be rounded up
def test_the_largest_ratio_in_the_sentence_works(num_embeddings: int, embedding_dim: int, smallest: int) -> None:
    if smallest > num_embeddings * embedding_dim:
        with pytest.raises(ValueError, match=f"num_embeddings × embedding_dim must be at least {smallest}"):
            affordable(num_embeddings, embedding_dim, 1.0, smallest=smallest)
        return
    with pytest.raises(ValueError, match="ratio must be at most") as caught:
        affordable(num_embeddings, embedding_dim, 1e9, smallest=smallest)
    largest = float(str(caught.value).removeprefix("ratio must be at most ").split(",")[0])
    assert affordable(num_embeddings, embedding_dim, largest, smallest=smallest) >= smallest


def test_advice_is_part_of_the_sentence() -> None:
    with pytest.raises(ValueError, match=r"has 9 numbers with less, got 20"):
        affordable(10, 10, 20, smallest=9, advice=" with less")


def test_importance_orders_ids_and_puts_padding_last() -> None:
    assert by_importance(4, np.array([1, 7, 7, 9]), None).tolist() == [3, 1, 2, 0]
    assert by_importance(4, np.array([1.0, 7.0, 7.0, 9.0]), 3).tolist() == [1, 2, 0, 3]
    assert by_importance(3, None, 0).tolist() == [1, 2, 0]


def test_counts_are_checked() -> None:
    with pytest.raises(ValueError, match=r"counts must be one number per id \(3\), got shape \(2,\)"):
        by_importance(3, np.array([1, 2]), None)
    with pytest.raises(ValueError, match="counts must be numbers, got NaN for id 1"):
        by_importance(3, np.array([1, np.nan, 2]), None)


def test_parameters_have_the_scale_that_was_asked_for() -> None:
    parameter = normal_parameter((200, 100), 0.3, torch.Generator().manual_seed(0))
    assert parameter.requires_grad
    assert float(parameter.detach().std()) == pytest.approx(0.3, rel=0.02)
