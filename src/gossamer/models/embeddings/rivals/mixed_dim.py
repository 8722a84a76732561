"""Mixed-dimension embeddings: popular ids have wide vectors, rare ids narrow ones that a projection widens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.embeddings.rivals.low_rank import low_rank_factors
from gossamer.models.embeddings.sizing import INITIAL_STD, affordable, by_importance, normal_parameter
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained

Blocks = Sequence[tuple[int, int]]  # (number of ids, width), the most popular first


class MixedDimEmbedding(EmbeddingTable):
    """Ids in `num_blocks` blocks of equal total popularity; block b has width D·(p_b / p_0)^alpha, at least 1.

    p_b is the mean count of an id of block b, p_0 that of the most popular. A block narrower than D has a projection
    to D, which is counted. At a `ratio`, the smallest alpha ≤ 1 that fits is taken; where even 1 does not, the widest
    block is made narrower than D; numbers left over widen the most popular blocks. `blocks` says it explicitly.
    Blocks of equal popularity, not of equal number of ids, give the sizes of the ANT paper's table 13.

    Reference: Ginart, Naumov, Mudigere, Yang, Zou, "Mixed dimension embeddings with application to memory-efficient
    recommendation systems", 2019, algorithm 2.

    >>> table = MixedDimEmbedding(6, 4, alpha=0.5, num_blocks=2, counts=np.array([16, 4, 4, 4, 4, 0]))
    >>> table.blocks, table.num_values()
    ([(1, 4), (5, 2)], 22)
    """

    method: ClassVar[str] = "mixed-dim"
    ranks: Int[Tensor, " V"]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        alpha: float | None = None,
        *,
        ratio: float | None = None,
        blocks: Blocks | None = None,
        num_blocks: int = 8,
        counts: np.ndarray | None = None,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        if sum(size is not None for size in (alpha, ratio, blocks)) != 1:
            raise ValueError(
                "alpha or ratio must be given, one of them alone (or blocks), "
                f"got alpha={alpha}, ratio={ratio} and blocks={blocks}"
            )
        order = by_importance(num_embeddings, counts, padding_idx)
        if blocks is None:
            if counts is None:
                raise ValueError("counts must be given, one per id, to make blocks of equal popularity, got None")
            sizes, popularity = popularity_blocks(np.asarray(counts, dtype=np.float64)[order], num_blocks)
            widths = choose_widths(sizes, popularity, embedding_dim, alpha=alpha, ratio=ratio)
            blocks = list(zip(sizes.tolist(), widths.tolist(), strict=True))
        self.blocks = _check_blocks(blocks, num_embeddings, embedding_dim)
        ranks = np.empty(num_embeddings, dtype=np.int32)
        ranks[order] = np.arange(num_embeddings)
        self.register_buffer("ranks", torch.from_numpy(ranks))
        generator = torch_generator(random_state)
        self.vectors = nn.ParameterList()
        self.projections = nn.ParameterDict()  # by number of block, where one is needed
        for number, (size, width) in enumerate(self.blocks):
            is_narrow = width < embedding_dim
            std = (INITIAL_STD / width**0.5) ** 0.5 if is_narrow else INITIAL_STD
            self.vectors.append(normal_parameter((size, width), std, generator))
            if is_narrow:
                self.projections[str(number)] = normal_parameter((width, embedding_dim), std, generator)

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return vectors of each block, widened by its projection."""
        ranks = self.ranks[ids].long()
        rows: Tensor = self.vectors[0].new_zeros(len(ids), self.embedding_dim)
        start = 0
        for number, (size, _) in enumerate(self.blocks):
            chosen = ((ranks >= start) & (ranks < start + size)).nonzero().squeeze(1)
            if len(chosen):
                narrow = functional.embedding(ranks[chosen] - start, self.vectors[number])
                projection = self.projections.get(str(number))
                rows = rows.index_copy(0, chosen, narrow if projection is None else narrow @ projection)
            start += size
        return rows

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return scores block by block, after projecting `hidden` to the block's width."""
        parts = []
        for number, vectors in enumerate(self.vectors):
            projection = self.projections.get(str(number))
            narrow = hidden if projection is None else hidden @ projection.T
            parts.append(functional.linear(narrow, vectors))
        return self.clear_padding(torch.cat(parts, dim=-1).index_select(-1, self.ranks.long()))

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments; the order of ids by popularity is stored, not configured."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "blocks": [list(block) for block in self.blocks],
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return the closest table: a truncated singular value decomposition per block."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size).to(values.device)
        ordered = values[table.ranks.argsort()]
        parts = torch.split(ordered, [size for size, _ in table.blocks])
        for number, (part, (_, width)) in enumerate(zip(parts, table.blocks, strict=True)):
            if str(number) not in table.projections:
                table.vectors[number].data.copy_(part)
                continue
            left, right = low_rank_factors(part, width)  # a block of fewer ids than its width has fewer directions
            table.vectors[number].data.zero_()[:, : left.shape[1]] = left
            table.projections[str(number)].data.zero_()[: len(right)] = right
        return table


def popularity_blocks(
    counts: Float[np.ndarray, " V"], num_blocks: int
) -> tuple[Int[np.ndarray, " b"], Float[np.ndarray, " b"]]:
    """Return sizes and mean counts of blocks of about equal total, from falling counts; empty blocks are dropped.

    >>> popularity_blocks(np.array([4.0, 2.0, 1.0, 1.0]), 2)
    (array([1, 3]), array([4.        , 1.33333333]))
    """
    check_int("num_blocks", num_blocks, at_least=1)
    if counts.min() < 0:
        raise ValueError(f"counts must be at least 0, got {counts.min():g}")
    total = np.cumsum(counts)
    shares = total[-1] * np.arange(1, num_blocks) / num_blocks
    cuts = np.searchsorted(total, shares * (1 - 1e-12)) + 1  # a block ends with the id that fills it
    bounds = np.unique(np.concatenate([[0], np.minimum(cuts, len(counts)), [len(counts)]]))
    sizes = np.diff(bounds)
    return sizes, np.add.reduceat(counts, bounds[:-1]) / sizes


def choose_widths(
    sizes: Int[np.ndarray, " b"],
    popularity: Float[np.ndarray, " b"],
    embedding_dim: int,
    *,
    alpha: float | None,
    ratio: float | None,
) -> Int[np.ndarray, " b"]:
    """Return the width of every block, by `alpha` or as wide as `ratio` allows."""
    relative = popularity / popularity[0] if popularity[0] > 0 else np.ones(len(popularity))
    if alpha is not None:
        check_real("alpha", alpha, at_least=0)
        return np.maximum(1, np.rint(embedding_dim * relative**alpha)).astype(np.int64)
    assert ratio is not None
    smallest = int(sizes.sum()) + (len(sizes) * embedding_dim if embedding_dim > 1 else 0)
    advice = f" with {len(sizes)} blocks"
    budget = affordable(int(sizes.sum()), embedding_dim, ratio, smallest=smallest, advice=advice)
    powers = relative ** np.linspace(0, 1, 201)[:, None]
    for widest in range(embedding_dim, 0, -1):
        widths = np.maximum(1, np.rint(widest * powers)).astype(np.int64)
        fits = num_values_of(sizes, widths, embedding_dim) <= budget
        if fits.any():
            break
    chosen: np.ndarray = widths[int(fits.argmax())]
    for block in range(len(sizes)):  # the last block is large and its width an integer, so much can be left over
        while chosen[block] < embedding_dim:
            chosen[block] += 1
            if num_values_of(sizes, chosen, embedding_dim) > budget:
                chosen[block] -= 1
                break
    return chosen


def num_values_of(
    sizes: Int[np.ndarray, " b"], widths: Int[np.ndarray, "*n b"], embedding_dim: int
) -> Int[np.ndarray, "*n"]:
    """Return how many numbers blocks of these widths have, with a projection for each that is narrow.

    >>> int(num_values_of(np.array([1, 5]), np.array([4, 2]), 4))
    22
    """
    values: np.ndarray = widths @ sizes + embedding_dim * np.where(widths < embedding_dim, widths, 0).sum(axis=-1)
    return values


def _check_blocks(blocks: Blocks, num_embeddings: int, embedding_dim: int) -> list[tuple[int, int]]:
    checked = [(check_int("size of a block", size, at_least=1), width) for size, width in blocks]
    if sum(size for size, _ in checked) != num_embeddings:
        total = sum(size for size, _ in checked)
        raise ValueError(f"blocks must have {num_embeddings} ids together, got {total}")
    return [(size, check_int("width of a block", width, at_least=1, at_most=embedding_dim)) for size, width in checked]
