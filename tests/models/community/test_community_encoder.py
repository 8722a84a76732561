"""Wide and deep: codes are taken by rows, what is unknown is zero, and any module may embed ids."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from gossamer.models.community.encoder import CodeTable, WideAndDeep, no_codes
from gossamer.models.community.features import FeatureCodes

CODES = CodeTable.of(
    FeatureCodes(np.array([0, 2, 2, 3]), np.array([0, 3, 1]), np.array([[1.0], [0.0], [-2.0]], dtype=np.float32))
)


def test_rows_are_taken_in_any_order_and_unknown_ones_are_empty() -> None:
    taken = CODES.take(torch.tensor([2, -1, 0, 0]))
    assert taken.offsets.tolist() == [0, 1, 1, 3, 5]
    assert taken.values.tolist() == [1, 0, 3, 0, 3]
    assert taken.numbers[:, 0].tolist() == [-2.0, 0.0, 1.0, 1.0]
    assert len(no_codes(2, 1).take(torch.tensor([1, 0, -1]))) == 3
    assert len(no_codes(0, 1).take(torch.tensor([-1, -1]))) == 2


def test_a_node_of_which_nothing_is_known_is_zero() -> None:
    torch.manual_seed(0)
    encoder = WideAndDeep(4, 1, 5, num_ids=3)
    embedded = encoder(CODES, torch.tensor([-1, -1, 2]))
    assert embedded[0].abs().min() > 0
    assert (embedded[1] == 0).all()
    with_id = encoder(CODES, torch.tensor([-1, 1, 2]))
    assert isinstance(encoder.ids, nn.Embedding)
    torch.testing.assert_close(with_id[1], encoder.ids.weight[1])


def test_wide_part_is_the_sum_of_values_and_gradients_are_right() -> None:
    encoder = WideAndDeep(4, 1, 3).double()
    codes = CodeTable(CODES.offsets, CODES.values, CODES.numbers.double())
    nn.init.zeros_(encoder.out.weight)
    wide = encoder.wide.weight[0] + encoder.wide.weight[3] + encoder.numbers.weight[:3, 0]
    torch.testing.assert_close(encoder(codes)[0], wide)
    nn.init.normal_(encoder.out.weight)
    numbers = codes.numbers.clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda given: encoder(CodeTable(codes.offsets, codes.values, given))[[0, 2]], numbers
    )


def test_another_module_may_embed_ids_and_is_settled_as_a_table() -> None:
    encoder = WideAndDeep(0, 0, 4, num_ids=6)
    module = nn.Sequential(nn.Embedding(6, 2), nn.Linear(2, 4))
    encoder.replace_ids(module, 6)
    before = encoder(no_codes(6), torch.arange(6))
    encoder.settle_ids()
    assert isinstance(encoder.ids, nn.Embedding)
    torch.testing.assert_close(encoder(no_codes(6), torch.arange(6)), before)
    with pytest.raises(ValueError, match=r"item_embedding must give 4 numbers per item, got \(2, 3\)"):
        encoder.replace_ids(nn.Embedding(6, 3), 6)
