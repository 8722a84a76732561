from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gossamer.networks import word_streams
from gossamer.networks.awd_lstm import AWDLSTM
from gossamer.networks.lstm import LSTMLanguageModel
from gossamer.networks.sampled_softmax import NegativeSampler
from gossamer.networks.word_streams import LaneBatches, Lanes, StreamLoss, start_bias_, stream_log_probs


def network() -> LSTMLanguageModel:
    return LSTMLanguageModel(nn.Embedding(9, 4), hidden_dim=4, num_layers=1)


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 7))
def test_lanes_hold_every_token_once_behind_the_one_before(length: int, num_lanes: int, num_steps: int):
    stream = np.arange(1, length + 1)
    lanes = Lanes.of(stream, num_lanes, start=0)
    pieces = [lanes.piece(number, num_steps) for number in range(lanes.count(num_steps))]
    inputs = torch.cat([piece[:, :-1] for piece in pieces], dim=1).reshape(-1)[:length].tolist()
    targets = torch.cat([piece[:, 1:] for piece in pieces], dim=1).reshape(-1)[:length].tolist()
    assert targets == stream.tolist()
    assert inputs == [0, *stream.tolist()[:-1]]


def test_log_probs_are_those_of_one_pass(monkeypatch: pytest.MonkeyPatch):
    model, stream = network().eval(), np.random.default_rng(0).integers(0, 9, 50)
    monkeypatch.setattr(word_streams, "STEPS_AT_ONCE", 7)
    inputs = torch.from_numpy(np.concatenate([[3], stream[:-1]])).unsqueeze(0)
    expected = model(inputs)[0].log_softmax(dim=2)[0, torch.arange(50), torch.from_numpy(stream)]
    found = stream_log_probs(model, stream, start=3)
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-5)
    assert stream_log_probs(model, stream[:0], start=3).shape == (0,)


def test_probabilities_of_all_next_tokens_sum_to_one():
    model = network()
    totals = sum(np.exp(stream_log_probs(model, np.array([4, 2, token]), start=0)[-1]) for token in range(9))
    assert totals == pytest.approx(1.0, rel=1e-5)


def test_long_streams_are_read_in_lanes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(word_streams, "TOKENS_PER_LANE", 10)
    model, stream = network(), np.random.default_rng(0).integers(0, 9, 25)
    found = stream_log_probs(model, stream, start=0)
    whole = stream_log_probs(model, stream[:9], start=0)
    assert found.shape == (25,)
    np.testing.assert_allclose(found[:9], whole, rtol=1e-5)


def test_pieces_in_turn_are_the_whole_and_a_checkpoint_holds_the_state():
    model = network()
    lanes = Lanes.of(np.random.default_rng(0).integers(0, 9, 40), 4, start=0)
    whole = StreamLoss(model, num_lanes=4)(lanes.piece(0, 10), True)["loss"]
    first, second = StreamLoss(model, num_lanes=4), StreamLoss(model, num_lanes=4)
    begin = first(lanes.piece(0, 5), True)["loss"]
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close((begin + second(lanes.piece(1, 5), False)["loss"]) / 2, whole)
    torch.testing.assert_close(second(lanes.piece(0, 5), True)["loss"], begin)


def test_sampling_everything_is_the_full_softmax():
    model = network()
    tokens = torch.randint(9, (4, 6))
    sampler = NegativeSampler(np.ones(9), 9)
    sampled = StreamLoss(model, num_lanes=4, sampler=sampler)(tokens, True)
    full = StreamLoss(model, num_lanes=4)(tokens, True)
    torch.testing.assert_close(sampled["loss"], full["loss"])


def test_penalties_are_added():
    model = AWDLSTM(nn.Embedding(9, 4), hidden_dim=4, num_layers=1)
    found = StreamLoss(model, num_lanes=4)(torch.randint(9, (4, 6)), True)
    torch.testing.assert_close(found["loss"] - found["cross_entropy"], model.activation_penalty())


def test_the_bias_begins_at_frequencies():
    model = network()
    start_bias_(model, np.arange(9))
    np.testing.assert_allclose(model.output_bias.detach().exp(), (np.arange(9) + 1) / 45, rtol=1e-5)


def test_processes_divide_the_lanes_and_read_every_piece_of_theirs():
    lanes = Lanes.of(np.arange(1, 31), 5, start=0)
    batches = LaneBatches(lanes, 4)
    whole = [piece for (piece, _), _ in batches.epoch(0)]
    shares = [list(batches.epoch(0, rank=rank, world_size=2)) for rank in (0, 1)]
    assert batches.count(2) == len(whole) == len(shares[0]) == 2
    assert batches.num_rows(0, 2) == 1
    for number, piece in enumerate(whole):
        for rank in (0, 1):
            (own, is_first), weight = shares[rank][number]
            assert torch.equal(own, piece[rank::2])
            assert is_first == (number == 0)
            assert weight == pytest.approx(len(own) * 2 / 5)
    assert [weight for _, weight in batches.epoch(0, rank=6, world_size=7)] == [0.0, 0.0]
