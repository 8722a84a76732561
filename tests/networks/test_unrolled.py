"""Unrolled networks compute what torch's own compute, in every configuration."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from gossamer.networks.unrolled import can_be_unrolled, unroll


@pytest.mark.parametrize(
    ("kind", "bidirectional", "batch_first", "bias"),
    [*itertools.product([nn.LSTM, nn.GRU], [False, True], [False, True], [True]), (nn.LSTM, False, True, False)],
)
def test_recurrent_networks(kind, bidirectional, batch_first, bias):
    source = kind(5, 4, 2, bias=bias, batch_first=batch_first, bidirectional=bidirectional, dropout=0.5).eval()
    unrolled = unroll(source)
    inputs = torch.randn(3, 6, 5)
    torch.testing.assert_close(unrolled(inputs), source(inputs))
    _, state = source(inputs)
    torch.testing.assert_close(unrolled(inputs, state), source(inputs, state))
    torch.testing.assert_close(unrolled(inputs[0]), source(inputs[0]))
    unrolled.flatten_parameters()


@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_projected_lstm():
    source = nn.LSTM(5, 4, 2, proj_size=3, bidirectional=True)
    inputs = torch.randn(6, 2, 5)
    torch.testing.assert_close(unroll(source)(inputs), source(inputs))


def test_an_unbatched_state():
    source = nn.LSTM(5, 4)
    inputs, state = torch.randn(6, 5), (torch.randn(1, 4), torch.randn(1, 4))
    torch.testing.assert_close(unroll(source)(inputs, state), source(inputs, state))


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"kdim": 3, "vdim": 5}])
def test_attention(batch_first, options):
    source = nn.MultiheadAttention(8, 2, batch_first=batch_first, **options).eval()
    unrolled = unroll(source)
    query, key = torch.randn(3, 6, 8), torch.randn(3, 6, options.get("kdim", 8))
    value = torch.randn(3, 6, options.get("vdim", 8))
    torch.testing.assert_close(unrolled(query, key, value), source(query, key, value))
    length = query.shape[1] if batch_first else query.shape[0]
    batch = query.shape[0] if batch_first else query.shape[1]
    mask = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
    padding = torch.zeros(batch, length, dtype=torch.bool)
    padding[0, -1] = True
    masked = {"attn_mask": mask, "key_padding_mask": padding, "average_attn_weights": False}
    torch.testing.assert_close(unrolled(query, key, value, **masked), source(query, key, value, **masked))
    per_head = {"attn_mask": torch.randn(batch * 2, length, length), "need_weights": False}
    ours, theirs = unrolled(query, key, value, **per_head), source(query, key, value, **per_head)
    torch.testing.assert_close(ours[0], theirs[0])
    assert ours[1] is None
    with pytest.raises(ValueError, match="attn_mask must be given with is_causal"):
        unrolled(query, key, value, is_causal=True)


def test_unbatched_attention():
    source = nn.MultiheadAttention(8, 2).eval()
    inputs, padding = torch.randn(6, 8), torch.tensor([False] * 5 + [True])
    torch.testing.assert_close(unroll(source)(inputs, inputs, inputs, padding), source(inputs, inputs, inputs, padding))


def test_recurrent_parameters_are_the_very_same():
    source = nn.LSTM(5, 4)
    assert unroll(source).directions[0].recurrent.weight is source.weight_hh_l0


def test_what_cannot_be_unrolled():
    class Own(nn.LSTM):
        def forward(self, input, hx=None):
            return super().forward(2 * input, hx)

    assert can_be_unrolled(nn.GRU(2, 2))
    assert not can_be_unrolled(Own(2, 2))
    assert not can_be_unrolled(nn.MultiheadAttention(4, 2, add_bias_kv=True))
    assert not can_be_unrolled(nn.RNN(2, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_torchscript(kind):
    unrolled = unroll(kind(5, 4, 2, bidirectional=True))
    inputs = torch.randn(6, 2, 5)
    torch.testing.assert_close(torch.jit.script(unrolled)(inputs), unrolled(inputs))
