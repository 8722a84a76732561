"""GraphSAGE: what neighbours say (3.3, 3.6), joined with the node's own embedding (3.4, 3.7), normalised (3.5, 3.8)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.community.neighbourhood import Neighbours

AGGREGATORS = ("mean", "max", "attention")
TINY = 1e-12


def weighted_mean(
    nodes: Float[Tensor, "n D"], neighbours: Neighbours, weights: Float[Tensor, " E"] | None
) -> Float[Tensor, "B D"]:
    """Return Σ w h / Σ w over each node's neighbours, zero for a node without any."""
    offsets = neighbours.offsets[:-1]
    if len(neighbours.indices) == 0:
        return nodes.new_zeros(len(neighbours), nodes.shape[1])
    if weights is None:
        return functional.embedding_bag(neighbours.indices, nodes, offsets, mode="mean")
    sums = nodes.new_zeros(len(neighbours)).index_add_(0, neighbours.rows(), weights)
    summed = functional.embedding_bag(neighbours.indices, nodes, offsets, mode="sum", per_sample_weights=weights)
    return summed / sums.clamp(min=TINY)[:, None]


def segment_softmax(scores: Float[Tensor, " E"], neighbours: Neighbours) -> Float[Tensor, " E"]:
    """Return the softmax of scores over each node's neighbours."""
    rows = neighbours.rows()
    highest = scores.new_full((len(neighbours),), -torch.inf).scatter_reduce_(0, rows, scores.detach(), "amax")
    powers = torch.exp(scores - highest[rows])
    sums = powers.new_zeros(len(neighbours)).index_add(0, rows, powers)
    return powers / sums[rows].clamp(min=TINY)


class Aggregator(nn.Module):
    """One vector from a node's neighbours: mean, maximum of a hidden layer, or attention by the node itself.

    The mean is multiplied by √(number of neighbours), at most √`MOST`: ten items that agree say more than one. Weights
    of edges count in the mean and in attention; the maximum is over all neighbours alike, whatever their weights.
    """

    MOST = 400

    def __init__(self, kind: str, width: int) -> None:
        super().__init__()
        self.kind = kind
        if kind == "max":
            self.hidden = nn.Linear(width, width)
        elif kind == "attention":
            self.query = nn.Linear(width, width, bias=False)
            self.key = nn.Linear(width, width, bias=False)
            self.score = nn.Linear(width, 1, bias=False)

    def forward(
        self, own: Float[Tensor, "B D"], nodes: Float[Tensor, "n D"], neighbours: Neighbours
    ) -> Float[Tensor, "B D"]:
        """Return one vector per node."""
        if len(neighbours.indices) == 0:
            return own.new_zeros(own.shape)
        if self.kind == "max":
            hidden = torch.relu(self.hidden(nodes))
            return functional.embedding_bag(neighbours.indices, hidden, neighbours.offsets[:-1], mode="max")
        if self.kind == "attention":
            asked = self.query(own)[neighbours.rows()] + self.key(nodes)[neighbours.indices]
            scores = self.score(torch.tanh(asked)).squeeze(-1)
            if neighbours.weights is not None:
                scores = scores + torch.log(neighbours.weights.clamp(min=TINY))
            return weighted_mean(nodes, neighbours, segment_softmax(scores, neighbours))
        degrees = (neighbours.offsets[1:] - neighbours.offsets[:-1]).clamp(max=self.MOST)
        return weighted_mean(nodes, neighbours, neighbours.weights) * degrees.to(nodes.dtype).sqrt()[:, None]


class SageLayer(nn.Module):
    """h = σ(W concat(own, what neighbours say …)) / √D (3.4, 3.5).

    σ is tanh, not the paper's sigmoid: embeddings that are all positive can hardly point away from each other. Dividing
    by √D bounds the length by 1, where the paper makes it 1: length then says how much is known.
    """

    def __init__(self, width: int, num_kinds: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.joined = nn.Linear((1 + num_kinds) * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, own: Float[Tensor, "B D"], *said: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the embeddings."""
        hidden = torch.tanh(self.joined(self.dropout(torch.cat([own, *said], dim=1))))
        bounded: Tensor = hidden / hidden.shape[1] ** 0.5
        return bounded
