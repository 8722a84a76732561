"""Neighbours drawn with PyTorch Geometric alone, which is what a user has who installs it without compiled packages.

Its own samplers (`NeighborLoader`, `sampler.NeighborSampler`) have no such path: PyG 2.8 raises "'NeighborSampler'
requires either 'pyg-lib' or 'torch-sparse'", neither of which could be installed here for this version of torch. What
it has in pure Python are neighbourhoods, `utils.k_hop_subgraph` of a batch, which looks at every edge, and
`EdgeIndex.sparse_narrow` of a node, which looks at the node's. From either, ten are drawn by torch; the faster one
counts.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch_geometric import EdgeIndex
from torch_geometric.utils import k_hop_subgraph

from gossamer.data import Interactions

BATCH, NUM_BATCHES, IN_A_LOOP = 1_024, 5, 5_000


def neighbours_per_second(data: Interactions, count: int) -> float:
    """Return how many neighbours of users are drawn, at most `count` of each, the faster way."""
    generator = torch.Generator().manual_seed(1)
    users, items = (torch.from_numpy(side.astype(np.int64)) for side in data.pairs())
    return max(_by_batches(data, users, items, count, generator), _by_nodes(data, users, items, count, generator))


def _by_batches(
    data: Interactions, users: torch.Tensor, items: torch.Tensor, count: int, generator: torch.Generator
) -> float:
    edges = torch.stack([items + data.num_users, users])
    began, drawn = time.perf_counter(), 0
    for _ in range(NUM_BATCHES):
        rows = torch.randint(data.num_users, (BATCH,), generator=generator)
        _, around, _, _ = k_hop_subgraph(rows, 1, edges, num_nodes=sum(data.shape))
        drawn += len(_few_of_each(around, count, generator)[0])
    return drawn / (time.perf_counter() - began)


def _few_of_each(edges: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return at most `count` edges of every target, any of them alike."""
    key = edges[1] + torch.rand(edges.shape[1], generator=generator, dtype=torch.float64)
    shuffled = edges[:, torch.argsort(key)]
    owners = shuffled[1].contiguous()
    place = torch.arange(len(owners)) - torch.searchsorted(owners, owners)
    return shuffled[:, place < count]


def _by_nodes(
    data: Interactions, users: torch.Tensor, items: torch.Tensor, count: int, generator: torch.Generator
) -> float:
    edges = EdgeIndex(torch.stack([users, items]), sort_order="row", sparse_size=data.shape).fill_cache_()
    rows = torch.randint(data.num_users, (IN_A_LOOP,), generator=generator).tolist()
    began, drawn = time.perf_counter(), 0
    for row in rows:
        around = edges.sparse_narrow(0, row, 1)[1]
        drawn += len(around[torch.randperm(len(around), generator=generator)[:count]])
    return drawn / (time.perf_counter() - began)
