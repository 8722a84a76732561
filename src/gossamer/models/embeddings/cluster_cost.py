"""What a divided anchor table costs each process while it is trained: bytes held, and bytes sent per update."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.core.checks import check_int
from gossamer.models.embeddings.slots import slot_dtype

NUMBER, COUNTER = 4, 8  # bytes of a weight or moment, and of a row's count and charge
MOMENTS = 2  # of Adam and Yogi: running means of gradients and of their squares


@dataclass(frozen=True)
class ClusterCost:
    """Bytes of one process: rows of T with their optimiser state, anchors with theirs, and what an update sends."""

    transform: int
    anchors: int
    sent_per_update: int

    @property
    def held(self) -> int:
        """All that is held between two updates."""
        return self.transform + self.anchors


def cluster_cost(
    num_embeddings: int,
    embedding_dim: int,
    num_anchors: int,
    num_slots: int,
    *,
    world_size: int,
    ids_per_update: int = 0,
) -> ClusterCost:
    """Return the cost of a `ShardedAnchorEmbedding` trained by Adam or Yogi on `world_size` processes.

    Rows: ⌈V/W⌉ · (S · (4 + slot bytes + 2 · 4) + 2 · 8); anchors: K · D · 4 · (1 + 2), everywhere. An update sends for
    each of this process's `ids_per_update` different ids, of which (W − 1)/W are elsewhere, the id (8), S slots (4)
    and weights (4), and S gradients (4); and 2 (W − 1)/W · K · D · 4 for the sum of the anchors' gradients.

    >>> cluster_cost(1_000_000_000, 64, 4000, 4, world_size=8).held / 1e9
    9.003072
    """
    for name, value in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)):
        check_int(name, value, at_least=1)
    check_int("num_anchors", num_anchors, at_least=1, at_most=num_embeddings)
    check_int("num_slots", num_slots, at_least=1, at_most=num_anchors)
    check_int("world_size", world_size, at_least=1)
    check_int("ids_per_update", ids_per_update, at_least=0)
    slot = np.dtype(slot_dtype(num_anchors)).itemsize
    row = num_slots * (NUMBER + slot + MOMENTS * NUMBER) + 2 * COUNTER
    rows = -(-num_embeddings // world_size)
    anchors = num_anchors * embedding_dim * NUMBER
    elsewhere = (world_size - 1) / world_size
    exchanged = ids_per_update * elsewhere * (8 + num_slots * 3 * NUMBER)
    return ClusterCost(rows * row, anchors * (1 + MOMENTS), round(exchanged + 2 * elsewhere * anchors))
