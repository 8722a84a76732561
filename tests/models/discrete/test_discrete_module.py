from __future__ import annotations

import torch

from gossamer.models.discrete.module import DiscreteNetwork
from gossamer.models.discrete.observations import BinaryObservation
from gossamer.models.discrete.shared import SharedLatent
from gossamer.models.discrete.temperatures import Temperatures


def make(gate_dims: list[int]) -> DiscreteNetwork:
    observation = BinaryObservation(torch.tensor([0.2, 0.5, 0.9, 0.0]))
    temperatures = Temperatures(2, "fixed", 1.0, 0.1, 1)
    return DiscreteNetwork(
        observation, SharedLatent(3, 2), temperatures, encoder_dims=[5], decoder_dims=[6], gate_dims=gate_dims
    )


def test_gates_have_a_network_of_their_own_or_one_more_output():
    x = torch.tensor([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    own, common = make([7]), make([])
    assert own.encode(x).shape == common.encode(x).shape == (2, 4)
    assert own.gates is not None
    assert common.gates is None
    torch.testing.assert_close(own.encode(x)[:, -1:], own.gates(x - own.observation.center))
    torch.testing.assert_close(own(x), own.encode(x))


def test_a_decoder_begins_with_the_means_of_columns():
    network = make([])
    with torch.no_grad():
        network.decoder[-1].weight.zero_()
        mean = network.observation.mean(network.decoder(torch.zeros(1, 3)))
    torch.testing.assert_close(mean, torch.tensor([[0.2, 0.5, 0.9, 0.001]]))
