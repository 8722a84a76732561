"""Tensor-train embeddings: an id is three digits, and each digit chooses a slice of a small core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.embeddings.rivals.tensor_train_contract import contract_rows, contract_scores
from gossamer.models.embeddings.sizing import INITIAL_STD, affordable, check_one_size, normal_parameter
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained

Three = tuple[int, int, int]


class TensorTrainEmbedding(EmbeddingTable):
    """E[i, (a, e, c)] = first[i1, a] · second[:, i2, e] · third[i3, :, c], with ranks up to `rank` between the cores.

    V is split into three nearly equal factors (their product may exceed V a little). `width_factors` splits D; by
    default the third core has all of it, (1, 1, D), which is both faster and, at equal size, closer to trained tables
    than the balanced factors of the literature.

    Reference: Khrulkov, Hrinchuk, Mirvakhabova, Oseledets, "Tensorized embedding layers", Findings of EMNLP 2020;
    Oseledets, "Tensor-train decomposition", SIAM J. Sci. Comput. 2011.

    >>> table = TensorTrainEmbedding(1000, 64, rank=4)
    >>> table.vocabulary_factors, table.num_values()
    ((10, 10, 10), 2760)
    """

    method: ClassVar[str] = "tensor-train"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        rank: int | None = None,
        *,
        ratio: float | None = None,
        width_factors: Sequence[int] | None = None,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        check_one_size("rank", rank, ratio)
        self.vocabulary_factors = split_vocabulary(num_embeddings)
        self.width_factors = _check_width(width_factors, embedding_dim)
        largest = max(ranks_between(self.vocabulary_factors, self.width_factors, num_embeddings * embedding_dim))
        if ratio is not None:
            sizes = [self._size_at(number) for number in range(1, largest + 1)]
            budget = affordable(num_embeddings, embedding_dim, ratio, smallest=sizes[0])
            rank = sum(size <= budget for size in sizes)
        self.rank = check_int("rank", rank, at_least=1, at_most=largest)
        (v1, v2, v3), (d1, d2, d3) = self.vocabulary_factors, self.width_factors
        r1, r2 = ranks_between(self.vocabulary_factors, self.width_factors, self.rank)
        generator = torch_generator(random_state)
        std = (INITIAL_STD / math.sqrt(r1 * r2)) ** (1 / 3)
        self.first = normal_parameter((v1, d1, r1), std, generator)
        self.second = normal_parameter((r1, v2, d2, r2), std, generator)
        self.third = normal_parameter((v3, r2, d3), std, generator)

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the contracted slices of three cores."""
        return contract_rows(self.first, self.second, self.third, ids)

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return scores core by core, where that is cheaper than making the table."""
        flat = hidden.reshape(-1, self.embedding_dim)
        (d1, d2, _), r2 = self.width_factors, self.third.shape[1]
        if len(flat) * d1 * d2 * r2 > (len(flat) + r2) * self.embedding_dim:
            return super().logits(hidden)
        scores = contract_scores(self.first, self.second, self.third, flat)[:, : self.num_embeddings]
        return self.clear_padding(scores.reshape(*hidden.shape[:-1], self.num_embeddings))

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "rank": self.rank,
            "width_factors": list(self.width_factors),
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return the TT-SVD of `weight`: two truncated singular value decompositions, one core after the other."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size).to(values.device)
        (v1, v2, v3), (d1, d2, d3) = table.vocabulary_factors, table.width_factors
        r1, r2 = table.first.shape[2], table.third.shape[1]
        full = functional.pad(values, (0, 0, 0, v1 * v2 * v3 - len(values)))
        digits = full.reshape(v1, v2, v3, d1, d2, d3).permute(0, 3, 1, 4, 2, 5)
        first, rest = split_matrix(digits.reshape(v1 * d1, -1), r1)
        second, third = split_matrix(rest.reshape(r1 * v2 * d2, v3 * d3), r2)
        table.first.data.copy_(first.reshape(v1, d1, r1))
        table.second.data.copy_(second.reshape(r1, v2, d2, r2))
        table.third.data.copy_(third.reshape(r2, v3, d3).transpose(0, 1))
        return table

    def _size_at(self, rank: int) -> int:
        (v1, v2, v3), (d1, d2, d3) = self.vocabulary_factors, self.width_factors
        r1, r2 = ranks_between(self.vocabulary_factors, self.width_factors, rank)
        return v1 * d1 * r1 + r1 * v2 * d2 * r2 + v3 * r2 * d3


def split_vocabulary(num_embeddings: int) -> Three:
    """Return three nearly equal factors whose product is at least V.

    >>> split_vocabulary(1_000_000), split_vocabulary(7)
    ((100, 100, 100), (2, 2, 2))
    """
    v1 = next(
        v for v in range(max(1, round(num_embeddings ** (1 / 3)) - 1), num_embeddings + 1) if v**3 >= num_embeddings
    )
    remaining = -(-num_embeddings // v1)
    v2 = math.isqrt(remaining - 1) + 1
    return v1, v2, -(-remaining // v2)


def ranks_between(vocabulary_factors: Three, width_factors: Three, rank: int) -> tuple[int, int]:
    """Return r1 and r2: `rank`, or what a decomposition without loss needs if that is less.

    >>> ranks_between((2, 10, 10), (1, 1, 8), 16)
    (2, 16)
    """
    first, second, third = (v * d for v, d in zip(vocabulary_factors, width_factors, strict=True))
    r1 = min(rank, first, second * third)
    return r1, min(rank, third, r1 * second)


def split_matrix(matrix: Float[Tensor, "M N"], rank: int) -> tuple[Float[Tensor, "M R"], Float[Tensor, "R N"]]:
    """Return orthonormal columns U and Uᵀ·matrix, whose product is the closest matrix of this rank.

    From the eigenvectors of the smaller Gram matrix in double precision: unfoldings of a table are very wide.
    """
    exact = matrix.double()
    if len(exact) <= exact.shape[1]:
        basis = torch.linalg.eigh(exact @ exact.T).eigenvectors.flip(1)[:, :rank]
    else:
        directions = torch.linalg.eigh(exact.T @ exact).eigenvectors.flip(1)[:, :rank]
        basis = torch.linalg.qr(exact @ directions).Q
    return basis.to(matrix.dtype), (basis.T @ exact).to(matrix.dtype)


def _check_width(width_factors: Sequence[int] | None, embedding_dim: int) -> Three:
    if width_factors is None:
        return 1, 1, embedding_dim
    factors = [check_int("width_factors", factor, at_least=1) for factor in width_factors]
    if len(factors) != 3 or math.prod(factors) != embedding_dim:
        raise ValueError(f"width_factors must be three integers whose product is {embedding_dim}, got {factors}")
    return factors[0], factors[1], factors[2]
