"""One byte per number: rows rounded to 255 levels of their own scale."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_bool, check_real
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.embeddings.sizing import INITIAL_STD, normal_parameter
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained

LEVELS = 127  # symmetric: −127 … 127, so that zero is exact


def quantise_rows(vectors: Float[Tensor, "V D"]) -> tuple[Int8[Tensor, "V D"], Float[Tensor, " V"]]:
    """Return bytes and one scale per row, with vectors ≈ bytes · scale to within half a scale.

    >>> quantise_rows(torch.tensor([[1.27, -0.5]]))
    (tensor([[127, -50]], dtype=torch.int8), tensor([0.0100]))
    """
    scales = vectors.abs().amax(dim=1) / LEVELS
    levels = vectors / torch.where(scales > 0, scales, 1.0).unsqueeze(1)
    return levels.round().clamp(-LEVELS, LEVELS).to(torch.int8), scales


class Int8Embedding(EmbeddingTable):
    """A table that trains with its own rounding and is stored as bytes with one float scale per row.

    In training the forward pass sees rounded vectors and the gradient passes straight through the rounding (Bengio et
    al. 2013). After `finish()` the scales can still be trained. It has no size argument: it stores V·D + V *numbers*,
    more than a dense table, in about a quarter of the *bytes*. So `ratio` is one of bytes here, 4 D/(D + 4) at most.
    """

    method: ClassVar[str] = "int8"
    levels: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        ratio: float | None = None,
        finished: bool = False,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        most = 4 * embedding_dim / (4 + embedding_dim)
        if ratio is not None and check_real("ratio", ratio, at_least=1) > most:
            shown = math.floor(most * 100) / 100  # down, so that the ratio in the sentence is one that works
            raise ValueError(f"ratio must be at most {shown}, what bytes and a scale per row save, got {ratio:g}")
        self.finished = check_bool("finished", finished)
        if finished:
            self._store(torch.zeros(num_embeddings, embedding_dim))
        else:
            shape = (num_embeddings, embedding_dim)
            self.vectors = normal_parameter(shape, INITIAL_STD, torch_generator(random_state))

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the rounded vectors of ids, in training with the gradient of unrounded ones."""
        if self.finished:
            return self.levels[ids] * self.scales[ids].unsqueeze(1)
        vectors = functional.embedding(ids, self.vectors)
        with torch.no_grad():
            levels, scales = quantise_rows(vectors)
            error = levels * scales.unsqueeze(1) - vectors
        return vectors + error

    def finish(self) -> None:
        """Round for good."""
        if not self.finished:
            self._store(self.vectors.detach())
            del self.vectors
            self.finished = True

    def num_values(self) -> int:
        """Return V·D + V: the numbers stored as bytes count as numbers, too."""
        return self.num_embeddings * (self.embedding_dim + 1 if self.finished else self.embedding_dim)

    def config(self) -> dict[str, Any]:
        """Return the arguments that build this table's shapes."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "finished": self.finished,
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return a finished table of the rounded rows of `weight`."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, finished=True, **size)
        table._store(values)
        return table

    def _store(self, vectors: Float[Tensor, "V D"]) -> None:
        levels, scales = quantise_rows(vectors)
        self.scales = nn.Parameter(scales)
        self.register_buffer("levels", levels)
