"""Tables of vectors inside a graph, in the form in which they are stored: anchors, low rank, or plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.export import padded_arrays
from gossamer.networks.low_rank import LowRankEmbedding
from gossamer.serving.export.graph import Graph, Value


class GraphTable:
    """A table whose numbers are in the graph once, for lookups and for a tied output layer alike.

    Anchors and low-rank tables stay as small as they are; every other compressed table is written out as plain rows.
    """

    def __init__(self, graph: Graph, table: nn.Module) -> None:
        self.graph, self.anchors, self.codes = graph, None, None
        if isinstance(table, AnchorEmbedding):
            arrays = padded_arrays(table)
            self.anchors, self.slots, self.values = (graph.constant(arrays[n]) for n in ("anchors", "slots", "values"))
        elif isinstance(table, LowRankEmbedding):
            self.codes, self.expand = graph.constant(table.codes.weight), graph.constant(table.expand.weight)
        else:
            self.rows = graph.constant(_plain_rows(table))

    def look_up(self, ids: Value) -> Value:
        """Return the vectors (…, D) of valid ids (…)."""
        graph = self.graph
        if self.anchors is not None:
            anchors = graph.gather(self.anchors, graph.gather(self.slots, ids).cast(np.int32))
            return (graph.gather(self.values, ids).add_axis(-2) @ anchors).drop_axis(-2)
        if self.codes is not None:
            return graph.gather(self.codes, ids) @ graph.op("Transpose", self.expand, perm=[1, 0])
        return graph.gather(self.rows, ids)

    def logits(self, hidden: Value) -> Value:
        """Return hidden (B, D) · Eᵀ, (B, V)."""
        graph = self.graph
        if self.anchors is not None:
            scores = hidden @ graph.op("Transpose", self.anchors, perm=[1, 0])
            return (graph.gather(scores, self.slots.cast(np.int32), axis=1) * self.values).sum(2)
        if self.codes is not None:
            return hidden @ self.expand @ graph.op("Transpose", self.codes, perm=[1, 0])
        return hidden @ graph.op("Transpose", self.rows, perm=[1, 0])


@torch.no_grad()
def _plain_rows(table: Any) -> torch.Tensor:
    if isinstance(table, nn.Embedding):
        return table.weight
    rows: torch.Tensor = table(torch.arange(table.num_embeddings))
    return rows
