"""The loss of ratings written out, and training of tables that it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.ratings.rating_training import RatingLoss, train_ratings
from gossamer.models.embeddings.rivals.dense import DenseEmbedding
from gossamer.networks.matrix_factorisation import MatrixFactorisation
from gossamer.testing.planted import planted_anchors
from gossamer.training.sharing import Sharing

SETTINGS: dict[str, Any] = {
    "batch_size": 128,
    "l2": 0.0,
    "eps": 1e-3,
    "random_state": 0,
    "sharing": Sharing(is_divided=False),
    "validate": None,
    "patience": None,
    "checkpoint": None,
    "log": None,
}


def test_the_loss_is_error_and_lengths_and_own_penalties():
    users = AnchorEmbedding(4, 3, 2, orthogonality=0.7)
    network = MatrixFactorisation(users, DenseEmbedding(5, 3), mean=1.0, biases=True)
    ids, other, ratings = torch.tensor([0, 3]), torch.tensor([1, 4]), torch.tensor([2.0, 5.0])
    p, q = network.users(ids), network.items(other)
    error = ratings - 1 - (p * q).sum(dim=1)
    expected = (error**2 + 0.1 * (p**2).sum(dim=1) + 0.1 * (q**2).sum(dim=1)).mean() + users.penalty() / 50
    assert RatingLoss(network, 0.1, 50)(ids, other, ratings).item() == pytest.approx(expected.item(), rel=1e-5)


def test_training_learns_planted_ratings_and_makes_zeros():
    planted = planted_anchors()
    matrix = planted.data.matrix("rating")
    users = np.repeat(np.arange(80), np.diff(matrix.indptr))
    network = MatrixFactorisation(AnchorEmbedding(80, 4, 5), AnchorEmbedding(60, 4, 5), mean=float(matrix.data.mean()))
    history = train_ratings(
        network, users, matrix.indices, matrix.data, epochs=15, learning_rate=0.05, l1=2e-3, **SETTINGS
    )
    losses = [epoch["loss"] for epoch in history.epochs]
    assert losses[-1] < 0.5 * matrix.data.var()
    for table in (network.users, network.items):
        assert isinstance(table, AnchorEmbedding)
        assert table.optimiser is None
        assert table.nnz() < 0.9 * table.num_embeddings * 5


def test_a_longer_vector_costs_more_where_l2_is_higher():
    planted = planted_anchors(noise=0.2)
    matrix = planted.data.matrix("rating")
    users = np.repeat(np.arange(80), np.diff(matrix.indptr))
    lengths = []
    for l2 in (0.0, 0.3):
        network = MatrixFactorisation(DenseEmbedding(80, 4), DenseEmbedding(60, 4), mean=float(matrix.data.mean()))
        settings = SETTINGS | {"l2": l2}
        train_ratings(network, users, matrix.indices, matrix.data, epochs=8, learning_rate=0.05, l1=0.0, **settings)
        lengths.append(network.users.weight.square().sum().item())
    assert lengths[1] < 0.5 * lengths[0]
