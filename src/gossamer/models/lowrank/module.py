"""What a split layer becomes: two ordinary layers behind the face of the one they stand for.

Shapes of `forward` are in words here: TorchScript does not read jaxtyping's.
"""

from __future__ import annotations

from torch import Tensor, nn

from gossamer.networks.low_rank import LowRankEmbedding, LowRankLinear

__all__ = ["LowRankConvolution", "LowRankEmbedding", "LowRankLinear", "TiedOutput"]


class LowRankConvolution(nn.Sequential):
    """Two convolutions for one: k×1 then 1×k (spatial), or k×k then 1×1 (channel), table 2.1."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__(first, second)


class TiedOutput(nn.Module):
    """A linear layer whose weight is a low-rank embedding's table."""

    def __init__(self, table: LowRankEmbedding, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.table = table
        self.bias = bias
        self.in_features, self.out_features = table.embedding_dim, table.num_embeddings

    def forward(self, input: Tensor) -> Tensor:
        """Return input (…, D) · Eᵀ + b."""
        scores = self.table.logits(input)
        return scores if self.bias is None else scores + self.bias
