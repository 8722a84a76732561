"""Propagation equals products of dense matrices, and so do its gradients."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from gossamer.models.community.propagation import normalised_graph, propagate

MATRIX = (np.random.default_rng(0).random((5, 4)) < 0.5).astype(np.float64)
MATRIX[:, 3] = 0


def dense() -> torch.Tensor:
    users, items = MATRIX.sum(axis=1, keepdims=True), MATRIX.sum(axis=0, keepdims=True)
    return torch.from_numpy(MATRIX / np.sqrt(np.maximum(users, 1)) / np.sqrt(np.maximum(items, 1)))


def test_layers_are_powers_of_the_normalised_graph() -> None:
    users, items = torch.randn(5, 2, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64)
    user_layers, item_layers = propagate(users, items, *normalised_graph(sparse.csr_array(MATRIX)), 2)
    torch.testing.assert_close(user_layers[1], dense() @ items)
    torch.testing.assert_close(item_layers[1], dense().T @ users)
    torch.testing.assert_close(user_layers[2], dense() @ dense().T @ users)
    assert (item_layers[1][3] == 0).all(), "an item without users"


def test_gradients_are_right() -> None:
    graph = normalised_graph(sparse.csr_array(MATRIX))
    users = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    items = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda a, b: sum(map(torch.sum, propagate(a, b.square(), *graph, 2)[0])), (users, items)
    )
