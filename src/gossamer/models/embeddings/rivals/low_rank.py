"""Low-rank embeddings: every vector is a combination of the same few directions (Grachev et al. 2019)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.embeddings.sizing import INITIAL_STD, affordable, check_one_size, normal_parameter
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained


class LowRankEmbedding(EmbeddingTable):
    """E = L·R with L (V, rank) and R (rank, D): (V + D)·rank numbers.

    Reference: Grachev, Ignatov, Savchenko, "Compression of recurrent neural networks for efficient language
    modeling", Applied Soft Computing 2019.

    >>> LowRankEmbedding(1000, 64, rank=4).num_values()
    4256
    """

    method: ClassVar[str] = "lowrank"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        rank: int | None = None,
        *,
        ratio: float | None = None,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        check_one_size("rank", rank, ratio)
        largest = min(num_embeddings, embedding_dim)
        if ratio is not None:
            per_rank = num_embeddings + embedding_dim
            rank = min(affordable(num_embeddings, embedding_dim, ratio, smallest=per_rank) // per_rank, largest)
        self.rank = check_int("rank", rank, at_least=1, at_most=largest)
        generator = torch_generator(random_state)
        std = (INITIAL_STD / self.rank**0.5) ** 0.5
        self.left = normal_parameter((num_embeddings, self.rank), std, generator)
        self.right = normal_parameter((self.rank, embedding_dim), std, generator)

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return L[ids]·R."""
        return functional.embedding(ids, self.left) @ self.right

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return (hidden·Rᵀ)·Lᵀ: rank, not D, multiplications per score."""
        return self.clear_padding(hidden @ self.right.T @ self.left.T)

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "rank": self.rank,
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return the closest table of this rank: the truncated singular value decomposition."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size).to(values.device)
        left, right = low_rank_factors(values, table.rank)
        table.left.data.copy_(left)
        table.right.data.copy_(right)
        return table


def low_rank_factors(matrix: Float[Tensor, "V D"], rank: int) -> tuple[Float[Tensor, "V R"], Float[Tensor, "R D"]]:
    """Return the factors of the closest matrix of this rank, with the singular values shared by both.

    >>> left, right = low_rank_factors(torch.ones(3, 2), 1)
    >>> bool(torch.allclose(left @ right, torch.ones(3, 2)))
    True
    """
    u, singular, vt = torch.linalg.svd(matrix, full_matrices=False)
    root = singular[:rank].sqrt()
    return u[:, :rank] * root, root.unsqueeze(1) * vt[:rank]
