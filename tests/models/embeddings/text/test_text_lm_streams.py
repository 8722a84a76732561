from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.embeddings.rivals.dense import DenseEmbedding
from gossamer.models.embeddings.text.lm_streams import ShareLaneBatches, TableStreamLoss, lane_batches
from gossamer.networks.awd_lstm import AWDLSTM
from gossamer.networks.word_streams import LaneBatches
from gossamer.training.sharing import Sharing


class Charged(DenseEmbedding):
    """A table that costs 40 per epoch."""

    def penalty(self) -> torch.Tensor:
        return torch.tensor(40.0)


def test_penalties_of_table_and_network_are_added():
    model = AWDLSTM(Charged(9, 4), hidden_dim=4, num_layers=1)
    found = TableStreamLoss(model, num_lanes=4, num_tokens=80)(torch.randint(9, (4, 6)), True)
    torch.testing.assert_close(found["loss"] - found["cross_entropy"], model.activation_penalty() + 0.5)


def batches_of(sizes: list[int], num_lanes: int, num_steps: int) -> list[LaneBatches]:
    """Return what processes with shares of so many tokens read; those of a share are numbered from 1."""
    lanes = [min(max(1, round(num_lanes * size / sum(sizes))), size) for size in sizes]
    shapes = np.array([[count, -(-size // count)] for size, count in zip(sizes, lanes, strict=True)])
    sharing = SimpleNamespace(is_divided=True, sum=lambda own: own * 0 + sum(sizes), gather=lambda own: shapes)
    return [
        lane_batches(np.arange(1, size + 1), num_lanes, num_steps, start=0, sharing=sharing)  # type: ignore[arg-type]
        for size in sizes
    ]


@given(st.lists(st.integers(20, 60), min_size=1, max_size=3), st.integers(1, 6), st.integers(4, 9))
def test_every_token_of_every_share_comes_once(sizes: list[int], num_lanes: int, num_steps: int):
    together = batches_of(sizes, num_lanes, num_steps)
    world = len(sizes)
    epochs = [list(own.epoch(0, rank=rank, world_size=world)) for rank, own in enumerate(together)]
    assert len({len(epoch) for epoch in epochs}) == 1, "as many pieces on every process"
    assert len({str(own.description()) for own in together}) == 1
    for size, epoch in zip(sizes, epochs, strict=True):
        assert [is_first for (_, is_first), _ in epoch] == [True] + [False] * (len(epoch) - 1)
        targets = torch.cat([tokens[:, 1:] for (tokens, _), _ in epoch], dim=1).reshape(-1)
        assert targets[:size].tolist() == list(range(1, size + 1))
        assert max(tokens.shape[1] - 1 for (tokens, _), _ in epoch) <= num_steps
    for pieces in zip(*epochs, strict=True):
        weights = [weight for _, weight in pieces]
        counts = [tokens[:, 1:].numel() for (tokens, _), _ in pieces]
        np.testing.assert_allclose(weights, np.array(counts) * world / sum(counts))


def test_an_epoch_can_be_entered_at_any_piece():
    (batches,) = batches_of([40], 2, 7)
    pieces = list(batches.epoch(0))
    again = list(batches.epoch(0, start=1))
    assert [piece[0][0].tolist() for piece in again] == [piece[0][0].tolist() for piece in pieces[1:]]
    assert not again[0][0][1]


def test_shares_that_are_too_short_for_the_pieces_are_refused():
    lanes = lane_batches(np.arange(3), 1, 2, start=0, sharing=Sharing(is_divided=False)).lanes
    with pytest.raises(ValueError, match=r"shares must have lanes of at least 50 tokens, .* got lanes of \[3, 100\]"):
        ShareLaneBatches(lanes, np.array([[1, 3], [1, 100]]), 2)
