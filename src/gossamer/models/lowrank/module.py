"""What a split layer becomes: two ordinary layers behind the face of the one they stand for.

Shapes of `forward` are in words here: TorchScript does not read jaxtyping's.
"""

from __future__ import annotations

from torch import Tensor, nn

from gossamer.networks.low_rank import LowRankConvolution, LowRankEmbedding, LowRankLinear

__all__ = ["LowRankConvolution", "LowRankEmbedding", "LowRankLinear", "TiedOutput"]


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
