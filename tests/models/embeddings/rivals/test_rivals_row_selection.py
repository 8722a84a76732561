from __future__ import annotations

import pytest
import torch

from gossamer.models.embeddings.rivals.group_lasso import GroupLassoEmbedding
from gossamer.models.embeddings.rivals.row_selection import choose_num_kept


def test_what_is_not_kept_embeds_to_zeros():
    weight = torch.tensor([[3.0, 0.0], [0.1, 0.1], [0.0, -2.0], [1.0, 0.0]])
    table = GroupLassoEmbedding.from_pretrained(weight, num_kept=2)
    assert table.kept.tolist() == [0, 2]
    torch.testing.assert_close(table.weight, weight * torch.tensor([[1.0], [0.0], [1.0], [0.0]]))
    assert table.num_values() == 4
    assert table.nbytes() == 4 * 4 + 2 * 4


def test_the_kept_rows_can_be_trained_further():
    table = GroupLassoEmbedding.from_pretrained(torch.eye(4), num_kept=2)
    dropped = next(i for i in range(4) if i not in table.kept.tolist())
    table(torch.tensor([int(table.kept[1]), dropped])).sum().backward()
    assert table.vectors.grad is not None
    assert table.vectors.grad.tolist() == [[0.0] * 4, [1.0] * 4]


def test_finish_twice_is_finish_once():
    table = GroupLassoEmbedding(20, 3, num_kept=5)
    table.finish()
    once = table.weight
    table.finish()
    torch.testing.assert_close(table.weight, once)


def test_padding_takes_no_place():
    weight = torch.tensor([[9.0], [1.0], [2.0]])
    table = GroupLassoEmbedding.from_pretrained(weight, num_kept=2, padding_idx=0)
    assert table.kept.tolist() == [1, 2]
    assert table(torch.tensor([0])).tolist() == [[0.0]]


def test_a_stored_table_is_restored():
    table = GroupLassoEmbedding.from_pretrained(torch.randn(30, 4), ratio=6)
    again = GroupLassoEmbedding(**table.config())
    again.restore(table.stored())
    torch.testing.assert_close(again.weight, table.weight)


@pytest.mark.parametrize(("num_kept", "ratio"), [(None, None), (3, 2.0)])
def test_one_of_size_and_ratio_is_asked_for(num_kept: int | None, ratio: float | None):
    with pytest.raises(
        ValueError, match=f"num_kept or ratio must be given, .* got num_kept={num_kept} and ratio={ratio}"
    ):
        GroupLassoEmbedding(20, 3, num_kept, ratio=ratio)


def test_sizes_out_of_range_are_named():
    with pytest.raises(ValueError, match=r"ratio must be at most 20, where .* has 3 numbers, got 21"):
        choose_num_kept(20, 3, None, 21, numbers_each=3)
    with pytest.raises(ValueError, match="num_kept must be an integer >= 1 and <= 60, got 61"):
        choose_num_kept(20, 3, 61, None, numbers_each=1)
    with pytest.raises(ValueError, match="finished must be True or False, got 1"):
        GroupLassoEmbedding(20, 3, 5, finished=1)  # type: ignore[arg-type]
