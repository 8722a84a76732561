"""Layers of low rank: a linear layer as two, a table as short vectors and a layer that widens them.

They live here because networks of every family may hold them, and be stored with them. Shapes of `forward` are in
words: TorchScript does not read jaxtyping's.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class LowRankLinear(nn.Sequential):
    """Two linear layers for one: x → Vᵀx → P(Vᵀx) + b.

    >>> layer = LowRankLinear(8, 6, 2, bias=True)
    >>> layer(torch.zeros(3, 8)).shape, layer.weight.shape
    (torch.Size([3, 6]), torch.Size([6, 8]))
    """

    __jit_unused_properties__ = ("weight", "bias")

    def __init__(self, in_features: int, out_features: int, rank: int, *, bias: bool) -> None:
        super().__init__(nn.Linear(in_features, rank, bias=False), nn.Linear(rank, out_features, bias=bias))
        self.in_features, self.out_features, self.rank = in_features, out_features, rank

    @property
    def weight(self) -> Float[Tensor, "out in"]:
        """The product of both weights, for code that reads it; computed anew every time."""
        return self[1].weight @ self[0].weight  # type: ignore[operator]

    @property
    def bias(self) -> Float[Tensor, " out"] | None:
        """The bias of the second layer."""
        return self[1].bias  # type: ignore[return-value]


class LowRankEmbedding(nn.Module):
    """A table as V short vectors and one linear layer that widens them; `logits` is the tied output layer."""

    __jit_unused_properties__ = ("weight",)

    def __init__(self, num_embeddings: int, embedding_dim: int, rank: int, padding_idx: int | None = None) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.codes = nn.Embedding(num_embeddings, rank, padding_idx=padding_idx)
        self.expand = nn.Linear(rank, embedding_dim, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        """Return the vectors (…, D) of ids (…)."""
        vectors: Tensor = self.expand(self.codes(input))
        return vectors

    @torch.jit.export
    def logits(self, hidden: Tensor) -> Tensor:
        """Return hidden (…, D) · Eᵀ, (…, V), without ever making E."""
        return functional.linear(torch.matmul(hidden, self.expand.weight), self.codes.weight)

    @property
    def weight(self) -> Float[Tensor, "V D"]:
        """The whole table, for code that reads it; computed anew every time."""
        return self.codes.weight @ self.expand.weight.mT
