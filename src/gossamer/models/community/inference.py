"""What a fitted network says: embeddings of items computed once, of users from whatever history they bring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.community.encoder import CodeTable
from gossamer.models.community.graph import BipartiteGraph, Edges
from gossamer.models.community.neighbourhood import Neighbours, all_neighbours
from gossamer.models.community.network import CommunityNetwork, UserParts

EDGES_AT_ONCE = 1_000_000
NO_EDGES = Edges(np.zeros(1, dtype=np.int64), np.empty(0, np.int32))


@contextmanager
def judged(network: nn.Module) -> Iterator[None]:
    """Switch gradients and dropout off, and afterwards back on where they were: validation comes during training."""
    was_training = network.training
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        network.train(was_training)


def embed_neighbours(network: CommunityNetwork, codes: CodeTable, num_known: int) -> Float[Tensor, "M D"]:
    """Return how every item speaks for those who have it; items after the first `num_known` have no id."""
    with judged(network):
        found: Tensor = network.neighbour_encoder(codes, _ids(len(codes), num_known))
        return found


def embed_items(
    network: CommunityNetwork,
    item_codes: CodeTable,
    user_codes: CodeTable,
    graph: BipartiteGraph | None,
    num_known: int,
) -> tuple[Float[Tensor, "M D"], Float[Tensor, " M"]]:
    """Return e_i and b_i of all items, from all their neighbours in `graph`, a block of edges at a time."""
    neighbours = embed_neighbours(network, item_codes, num_known)
    with judged(network):
        users = network.user_encoder(user_codes)  # once: blocks are of items, and any user may be in any of them
    num_items = len(item_codes)
    ids = _ids(num_items, num_known)
    vectors, biases = [torch.empty(0, neighbours.shape[1])], [torch.empty(0)]
    for rows in _blocks(graph, num_items):
        audience = _around(None if graph is None else graph.item_users, rows)
        alike = _around(None if graph is None else graph.item_items, rows)
        taken = torch.from_numpy(rows)
        with judged(network):
            own = network.target_encoder(item_codes.take(taken), ids[taken])
            found, bias = network.item_vectors(own, ids[taken], audience, users, alike, neighbours)
        vectors.append(found)
        biases.append(bias)
    return torch.cat(vectors), torch.cat(biases)


def embed_users(
    network: CommunityNetwork, codes: CodeTable, neighbours: Float[Tensor, "M D"], history: Neighbours
) -> UserParts:
    """Return the parts of users' embeddings from their features and histories, items being rows of `neighbours`."""
    with judged(network):
        return network.user_parts(network.full_users(codes, neighbours, history))


def _ids(num_items: int, num_known: int) -> Tensor:
    numbers = torch.arange(num_items)
    return torch.where(numbers < num_known, numbers, -1)


def _around(edges: Edges | None, rows: np.ndarray) -> Neighbours:
    if edges is None:
        return Neighbours(torch.zeros(len(rows) + 1, dtype=torch.int64), torch.empty(0, dtype=torch.int64))
    return all_neighbours(edges, rows)


def _blocks(graph: BipartiteGraph | None, num_items: int) -> Iterator[np.ndarray]:
    """Yield ranges of items that have about EDGES_AT_ONCE edges together."""
    if graph is None:
        yield np.arange(num_items)
        return
    done = np.cumsum(graph.item_users.degrees + graph.item_items.degrees)
    number = done // EDGES_AT_ONCE
    cuts = np.flatnonzero(np.diff(number)) + 1
    yield from (part for part in np.split(np.arange(num_items), cuts) if len(part))
