from __future__ import annotations

import pytest
import torch

from gossamer.models.embeddings import make_optimiser
from gossamer.models.embeddings.cluster_cost import cluster_cost
from gossamer.models.embeddings.sharded import ShardedAnchorEmbedding


@pytest.mark.parametrize(("world_size", "kind"), [(1, "yogi"), (3, "yogi"), (3, "adam")])
def test_bytes_held_are_those_of_the_tensors(monkeypatch, world_size, kind):
    monkeypatch.setattr(ShardedAnchorEmbedding, "num_shards", world_size)
    table = ShardedAnchorEmbedding(100, 8, 12, num_slots=5)
    optimiser = make_optimiser(table, kind=kind, learning_rate=0.1, l1=0.1, regrow_every=None)
    shape = table.values.shape
    table.values.grad = torch.sparse_coo_tensor(
        torch.tensor([[1]]), torch.ones(1, shape[1]), shape, check_invariants=False
    )
    table.anchors.grad = torch.ones_like(table.anchors)
    optimiser.step()
    held = {
        parameter: sum(
            tensor.nbytes for tensor in (parameter, *optimiser.state[parameter].values()) if tensor.dim() > 0
        )
        for parameter in (table.values, table.anchors)
    }
    cost = cluster_cost(100, 8, 12, 5, world_size=world_size)
    assert cost.transform == held[table.values] + table.slots.nbytes
    assert cost.anchors == held[table.anchors]
    assert cost.held == cost.transform + cost.anchors


def test_one_process_sends_nothing_and_many_send_what_is_elsewhere():
    assert cluster_cost(100, 8, 12, 5, world_size=1, ids_per_update=50).sent_per_update == 0
    sent = cluster_cost(100, 8, 12, 5, world_size=2, ids_per_update=50).sent_per_update
    assert sent == 25 * (8 + 5 * 12) + 12 * 8 * 4


def test_mistakes():
    with pytest.raises(ValueError, match="num_slots must be"):
        cluster_cost(100, 8, 12, 13, world_size=1)
    with pytest.raises(ValueError, match="world_size must be"):
        cluster_cost(100, 8, 12, 5, world_size=0)
