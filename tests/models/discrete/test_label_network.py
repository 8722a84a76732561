"""Members side by side compute what each would compute alone."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional

from gossamer.models.discrete.label_network import (
    LabelNetwork,
    MemberLinear,
    MemberMLP,
    SeparateLinear,
    put_together_,
    take_apart_,
)
from gossamer.networks.low_rank import LowRankLinear


def test_a_member_is_a_plain_network() -> None:
    network = MemberMLP(3, 4, (5,), 2).eval()
    inputs = torch.randn(3, 6, 4)
    first, last = network.layers
    for member in range(3):
        hidden = torch.relu(functional.linear(inputs[member], first.weight[member].T, first.bias[member, 0]))
        expected = functional.linear(hidden, last.weight[member].T, last.bias[member, 0])
        torch.testing.assert_close(network(inputs)[member], expected)


@pytest.mark.parametrize("decode", [False, True])
def test_labels_latent_features_and_a_gate_come_out(decode: bool) -> None:
    network = LabelNetwork(2, 4, 3, hidden_dims=(5, 6), num_latent=2, decode=decode)
    assert network(torch.randn(7, 4)).shape == (2, 7, 3 + 2 + 1)
    assert (network.decoder is not None) == decode
    if network.decoder is not None:
        assert network.decoder(torch.randn(2, 7, 5)).shape == (2, 7, 4)


def test_dropout_is_for_training_only_and_differs_between_members() -> None:
    network = LabelNetwork(2, 50, 3, hidden_dims=(), input_dropout=0.5)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter[:1].expand_as(parameter))
    inputs = torch.randn(4, 50)
    assert not torch.equal(*network.train()(inputs))
    assert torch.equal(*network.eval()(inputs))


def test_members_apart_compute_the_same_and_come_together_again() -> None:
    whole = LabelNetwork(3, 4, 2, hidden_dims=(5,), decode=True).eval()
    network, inputs, codes = copy.deepcopy(whole), torch.randn(6, 4), torch.randn(3, 6, 2)
    state = torch.random.get_rng_state()
    take_apart_(network)
    assert not any(isinstance(module, MemberLinear) for module in network.modules())
    torch.testing.assert_close(network(inputs), whole(inputs))
    torch.testing.assert_close(network.decoder(codes), whole.decoder(codes))
    put_together_(network)
    assert torch.equal(torch.random.get_rng_state(), state), "nothing is drawn"
    assert not network.encoder.layers[0].training
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(network.state_dict()[name], value, rtol=0, atol=0)


def test_a_layer_with_a_split_member_stays_apart() -> None:
    network = LabelNetwork(2, 4, 2, hidden_dims=(5,))
    take_apart_(network)
    network.encoder.layers[0].members[1] = LowRankLinear(4, 5, 2, bias=True)
    put_together_(network)
    assert [type(layer) for layer in network.encoder.layers] == [SeparateLinear, MemberLinear]
    assert network(torch.randn(7, 4)).shape == (2, 7, 3)
