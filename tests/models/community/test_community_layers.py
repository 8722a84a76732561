"""Aggregators against loops over neighbours."""

from __future__ import annotations

import pytest
import torch

from gossamer.models.community.layers import AGGREGATORS, Aggregator, SageLayer, segment_softmax, weighted_mean
from gossamer.models.community.neighbourhood import Neighbours

NEIGHBOURS = Neighbours(torch.tensor([0, 3, 3, 4]), torch.tensor([0, 2, 1, 3]))
NODES = torch.randn(4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OWN = torch.randn(3, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_means_are_weighted_and_zero_without_neighbours() -> None:
    weights = torch.tensor([1.0, 2.0, 1.0, 5.0], dtype=torch.float64)
    mean = weighted_mean(NODES, NEIGHBOURS, weights)
    torch.testing.assert_close(mean[0], (NODES[0] + 2 * NODES[2] + NODES[1]) / 4)
    assert (mean[1] == 0).all()
    torch.testing.assert_close(mean[2], NODES[3])
    torch.testing.assert_close(weighted_mean(NODES, NEIGHBOURS, None)[0], NODES[:3].mean(dim=0))


def test_softmax_is_within_neighbourhoods() -> None:
    scores = torch.tensor([1.0, 2.0, 3.0, -4.0], dtype=torch.float64)
    shares = segment_softmax(scores, NEIGHBOURS)
    torch.testing.assert_close(shares[:3], torch.softmax(scores[:3], dim=0))
    assert float(shares[3]) == pytest.approx(1)


def test_aggregators_are_what_their_names_say() -> None:
    mean = Aggregator("mean", 5)(OWN, NODES, NEIGHBOURS)
    torch.testing.assert_close(mean[0], NODES[:3].mean(dim=0) * 3**0.5)
    largest = Aggregator("max", 5).double()
    torch.testing.assert_close(
        largest(OWN, NODES, NEIGHBOURS)[0], torch.relu(largest.hidden(NODES[:3])).max(dim=0).values
    )
    attention = Aggregator("attention", 5).double()
    asked = torch.tanh(attention.query(OWN[0]) + attention.key(NODES[[0, 2, 1]]))
    shares = torch.softmax(attention.score(asked).squeeze(-1), dim=0)
    torch.testing.assert_close(attention(OWN, NODES, NEIGHBOURS)[0], shares @ NODES[[0, 2, 1]])


@pytest.mark.parametrize("kind", AGGREGATORS)
def test_gradients_are_right_and_no_neighbours_are_nothing(kind: str) -> None:
    torch.manual_seed(0)
    aggregator = Aggregator(kind, 5).double()
    nodes, own = NODES.clone().requires_grad_(), OWN.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: aggregator(a, b, NEIGHBOURS), (own, nodes))
    empty = Neighbours(torch.zeros(4, dtype=torch.int64), torch.empty(0, dtype=torch.int64))
    assert (aggregator(OWN, NODES, empty) == 0).all()


def test_a_layer_gives_vectors_of_length_1_at_most() -> None:
    layer = SageLayer(5, 1).double()
    lengths = layer(100 * OWN, 100 * OWN).norm(dim=1)
    assert ((lengths > 0.8) & (lengths <= 1)).all()
    assert layer(0.01 * OWN, 0 * OWN).norm() < lengths.norm()
