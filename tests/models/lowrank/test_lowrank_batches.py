"""Numbered batches of any iterable."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from gossamer.models.lowrank.batches import BatchSource, counted_batch, num_rows

PAIRS = [(torch.full((2, 3), float(number)), torch.tensor([number, number])) for number in range(3)]


def test_a_list_begins_again():
    source = BatchSource(PAIRS, needs_targets=True)
    assert source[4][0][0][0, 0] == 1
    assert len(source.first(8)) == 3
    assert num_rows(source[0]) == 2


def test_a_loader_is_read_once_and_kept():
    loader = DataLoader(TensorDataset(torch.arange(6.0), torch.arange(6)), batch_size=2, shuffle=True)
    source = BatchSource(loader, needs_targets=True)
    assert torch.equal(source[5][0][0], source[2][0][0])


def test_a_generator_that_ends_early():
    source = BatchSource(iter(PAIRS), needs_targets=True)
    assert len(source.first(8)) == 3
    with pytest.raises(ValueError, match="data must have 4 batches, got 3 before it ended; pass a list or"):
        source[3]


def test_models_with_several_arguments_and_without_targets():
    source = BatchSource([((PAIRS[0][0], PAIRS[1][0]), None)], needs_targets=True)
    assert len(source[0][0]) == 2
    assert BatchSource([PAIRS[0][0]], needs_targets=False)[0][1] is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "data must have at least one batch, got none"),
        (5, "data must be an iterable of \\(inputs, target\\) batches, got int"),
        (torch.zeros(3), "data must be an iterable of \\(inputs, target\\) batches, got Tensor"),
        ([torch.zeros(3)], "data must be pairs \\(inputs, target\\) for a loss to be computed, got a Tensor"),
        ([(1, 2, 3)], "got a tuple of 3"),
    ],
)
def test_other_data_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        BatchSource(data, needs_targets=True)[0]


def test_an_example_is_counted_in_place_of_the_first_batch():
    source = BatchSource(PAIRS, needs_targets=True)
    assert counted_batch(source, None) is source[0]
    assert counted_batch(source, PAIRS[0][0])[0][0] is PAIRS[0][0]
    assert counted_batch(source, (PAIRS[0][0], 3))[0] == (PAIRS[0][0], 3)
    with pytest.raises(ValueError, match="example must have a tensor among the inputs, got \\['str'\\]"):
        counted_batch(source, "image.png")


def test_inputs_need_a_tensor():
    with pytest.raises(ValueError, match="data must have a tensor among the inputs, got \\['int'\\]"):
        num_rows(((3,), None))
