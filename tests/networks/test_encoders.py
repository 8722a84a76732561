"""Encoders without the fast path answer as torch's own do, and are torch's own again where nothing was split."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from gossamer import Budget, compress
from gossamer.networks.encoders import PlainEncoder, PlainEncoderLayer, settle_encoders_
from gossamer.networks.unrolled import unroll


class Tagger(nn.Module):
    """An encoder that is told which places are padding, and a layer on top."""

    def __init__(self, *, norm_first: bool = False) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16))
        self.head = nn.Linear(16, 16)

    def forward(self, inputs, is_padding):
        return self.head(self.encoder(inputs, src_key_padding_mask=is_padding))


def sentences():
    torch.manual_seed(0)
    is_padding = torch.zeros(4, 6, dtype=torch.bool)
    is_padding[1:, 4:] = True
    return torch.randn(4, 6, 16), is_padding


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype")
@pytest.mark.parametrize("norm_first", [False, True])
@torch.no_grad()
def test_the_answers_are_those_of_torch(norm_first):
    inputs, is_padding = sentences()
    model = Tagger(norm_first=norm_first).eval()
    plain = copy.deepcopy(model)
    for layer in plain.encoder.layers:
        layer.self_attn = unroll(layer.self_attn)
    settle_encoders_(plain)
    assert type(plain.encoder) is PlainEncoder
    assert all(type(layer) is PlainEncoderLayer for layer in plain.encoder.layers)
    real = ~is_padding
    torch.testing.assert_close(plain(inputs, is_padding)[real], model(inputs, is_padding)[real], atol=1e-5, rtol=1e-5)
    causal = nn.Transformer.generate_square_subsequent_mask(6)
    hidden = [one.encoder(inputs, mask=causal, is_causal=True) for one in (plain, model)]
    torch.testing.assert_close(*hidden, atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:'norm' was found in ScriptModule constants")  # torch's own encoder's
@pytest.mark.parametrize("only", [None, ["*linear*"], ["*query", "*out"]])
def test_a_split_encoder_takes_no_fast_path_and_can_be_scripted(only):
    inputs, is_padding = sentences()
    model = Tagger().eval()
    batch = ((inputs, is_padding), None)
    small = compress(model, data=[batch], budget=Budget(macs=0.97), allocator="pos_cvx", only=only)
    with torch.no_grad(), torch.profiler.profile() as profile:
        answer = small(inputs, is_padding)
    assert "aten::_transformer_encoder_layer_fwd" not in {event.key for event in profile.key_averages()}
    torch.testing.assert_close(torch.jit.script(small)(inputs, is_padding), answer)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype")
def test_what_stays_whole_keeps_the_fast_path():
    inputs, is_padding = sentences()
    data = [((inputs, is_padding), None)]
    small = compress(Tagger().eval(), data=data, budget=Budget(params=0.99), allocator="pos_cvx", only=["head"])
    assert type(small.encoder) is nn.TransformerEncoder
    assert all(type(layer) is nn.TransformerEncoderLayer for layer in small.encoder.layers)
