"""Members side by side compute what each would compute alone."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from gossamer.models.discrete.label_network import LabelNetwork, MemberMLP


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
