from __future__ import annotations

import pytest
import torch
from torch import nn

from gossamer.networks.matrix_factorisation import MatrixFactorisation


def tables(users: int = 4, items: int = 3, width: int = 2) -> tuple[nn.Embedding, nn.Embedding]:
    return nn.Embedding(users, width), nn.Embedding(items, width)


def test_rating_is_mean_biases_and_product():
    users, items = tables()
    network = MatrixFactorisation(users, items, mean=3.5, biases=True)
    with torch.no_grad():
        network.user_biases.copy_(torch.arange(4.0))
        network.item_biases.copy_(10 * torch.arange(3.0))
    for user in range(4):
        for item in range(3):
            expected = 3.5 + user + 10 * item + (users.weight[user] @ items.weight[item]).item()
            rating = network(torch.tensor([user]), torch.tensor([item]))
            assert rating.item() == pytest.approx(expected, rel=1e-5)


def test_without_biases_there_are_none():
    users, items = tables()
    network = MatrixFactorisation(users, items)
    assert {name for name, _ in network.named_parameters()} == {"users.weight", "items.weight"}
    assert network(torch.tensor([1]), torch.tensor([2])).item() == pytest.approx(
        (users.weight[1] @ items.weight[2]).item(), rel=1e-5
    )


def test_gradients_are_right():
    network = MatrixFactorisation(*tables(), mean=1.0, biases=True).double()
    names = list(dict(network.named_parameters()))

    def rate(*parameters: torch.Tensor) -> torch.Tensor:
        ids = torch.tensor([0, 3, 3]), torch.tensor([2, 0, 1])
        return torch.func.functional_call(network, dict(zip(names, parameters, strict=True)), ids)

    assert torch.autograd.gradcheck(
        rate, tuple(parameter.detach().requires_grad_() for parameter in network.parameters())
    )


def test_tables_of_different_width_are_refused():
    with pytest.raises(ValueError, match=r"items must have the width of users, 2, got width 3"):
        MatrixFactorisation(nn.Embedding(4, 2), nn.Embedding(4, 3))
    with pytest.raises(ValueError, match=r"biases must be True or False, got 1"):
        MatrixFactorisation(*tables(), biases=1)
