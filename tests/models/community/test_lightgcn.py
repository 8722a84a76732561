"""LightGCN: propagation against dense matrices, gradients, and answers that are those of training."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from tiny_community import two_tastes

from gossamer.models.community import LightGCN
from gossamer.models.community.lightgcn import SmoothedTables


def test_known_users_get_the_scores_of_training() -> None:
    data = two_tastes()
    model = LightGCN(embedding_dim=4, epochs=3, batch_size=16).fit(data)
    tables = SmoothedTables(data.matrix(), 4, 2)
    with torch.no_grad():
        tables.users.copy_(torch.from_numpy(3 * model.user_vectors_))
        tables.items.normal_(generator=torch.Generator().manual_seed(0))
        model._keep(tables)
        users, items = (torch.stack(layers).mean(dim=0) for layers in tables.layers())
    np.testing.assert_allclose(model.embed(data), users.numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.item_vectors_, items.numpy(), rtol=1e-5)


def test_the_loss_is_the_softmax_of_what_users_have() -> None:
    matrix = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1]], dtype=np.float32))
    tables = SmoothedTables(matrix, 3, 1)
    users, items = (torch.stack(layers).mean(dim=0) for layers in tables.layers())
    log_probs = torch.log_softmax(users @ items.T, dim=1)
    expected = -(log_probs[0, 0] + log_probs[0, 1] + log_probs[1, 2]) / 3
    torch.testing.assert_close(tables(torch.tensor([0, 1])), expected)


def test_tastes_are_told_apart() -> None:
    data = two_tastes()
    model = LightGCN(embedding_dim=4, epochs=15, batch_size=16, learning_rate=0.05).fit(data)
    answer = model.recommend(data, n=1)
    assert ((answer.items[:, 0] >= 6) == (np.arange(40) % 2 == 1)).all()
