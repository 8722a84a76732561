"""The table everyone starts from: one trained vector per id."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gossamer.core.checks import check_real
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.embeddings.sizing import INITIAL_STD, normal_parameter
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained


class DenseEmbedding(EmbeddingTable):
    """V × D numbers, nothing shared and nothing saved.

    >>> DenseEmbedding(1000, 64).num_values()
    64000
    """

    method: ClassVar[str] = "dense"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        ratio: float = 1.0,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        if check_real("ratio", ratio, at_least=1) != 1:
            raise ValueError(f"ratio must be at most 1 for a dense table, which saves nothing, got {ratio:g}")
        self.vectors = normal_parameter((num_embeddings, embedding_dim), INITIAL_STD, torch_generator(random_state))

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return vectors[ids]."""
        return functional.embedding(ids, self.vectors)

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return hidden · vectorsᵀ without a copy of the table."""
        return self.clear_padding(functional.linear(hidden, self.vectors))

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return a table equal to `weight`."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size).to(values.device)
        table.vectors.data.copy_(values)
        return table
