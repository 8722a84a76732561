"""Compositional codes: a vector is a sum of codewords, one from each of M codebooks, and an id is M small integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gossamer.core.checks import check_bool, check_int
from gossamer.core.randomness import RandomState, numpy_generator, torch_generator
from gossamer.models.embeddings.rivals.clusters import far_apart, member_means, nearest_centres
from gossamer.models.embeddings.sizing import INITIAL_STD, affordable, check_one_size, normal_parameter
from gossamer.models.embeddings.table import ROWS_AT_ONCE, EmbeddingTable, check_pretrained

MOST_CODEWORDS = 256  # a code is one byte
DEFAULT_CODEBOOKS = 8


@dataclass(frozen=True)
class CodeSize:
    """M codebooks of C codewords each."""

    num_codebooks: int
    num_codewords: int


def code_size(
    num_embeddings: int,
    embedding_dim: int,
    num_codewords: int | None,
    num_codebooks: int | None,
    ratio: float | None,
) -> CodeSize:
    """Return the size that was asked for, by codewords per codebook or by a ratio of values (codes are no values).

    >>> code_size(60_000, 256, None, None, 100)
    CodeSize(num_codebooks=8, num_codewords=75)
    """
    check_one_size("num_codewords", num_codewords, ratio)
    if num_codebooks is not None:
        check_int("num_codebooks", num_codebooks, at_least=1)
    if ratio is None:
        check_int("num_codewords", num_codewords, at_least=2, at_most=MOST_CODEWORDS)
        return CodeSize(num_codebooks or DEFAULT_CODEBOOKS, int(num_codewords or 0))
    smallest = 2 * (num_codebooks or 1) * embedding_dim
    together = affordable(num_embeddings, embedding_dim, ratio, smallest=smallest) // embedding_dim
    if num_codebooks is None:  # more where bytes could not count the codewords, fewer where there is too little for two
        num_codebooks = min(max(DEFAULT_CODEBOOKS, -(-together // MOST_CODEWORDS)), together // 2)
    return CodeSize(num_codebooks, min(MOST_CODEWORDS, together // num_codebooks))


class CompositionalCodeEmbedding(EmbeddingTable):
    """Eᵢ = Σ_m codebooks[m, codes[i, m]] (Shu & Nakayama 2018), codes learned with the task as in Chen et al. (2020).

    In training every id has a query vector; its code m is the key most alike to the query's m-th part, and the gradient
    is that of the softmax over keys (straight through). `finish()` keeps codebooks (M, C, D) and one byte per code:
    M·C·D values, and V·M bytes on top, which `nbytes` counts. The codebooks can then be trained further.
    """

    method: ClassVar[str] = "codes"
    codes: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_codewords: int | None = None,
        *,
        ratio: float | None = None,
        num_codebooks: int | None = None,
        finished: bool = False,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        size = code_size(num_embeddings, embedding_dim, num_codewords, num_codebooks, ratio)
        self.finished = check_bool("finished", finished)
        generator = torch_generator(random_state)
        shape = (size.num_codebooks, size.num_codewords, embedding_dim)
        # So that a sum of M codewords begins as long as a vector of any other table.
        self.codebooks = normal_parameter(shape, INITIAL_STD / size.num_codebooks**0.5, generator)
        if finished:
            self.register_buffer("codes", torch.zeros(num_embeddings, size.num_codebooks, dtype=torch.uint8))
        else:
            part_dim = max(1, embedding_dim // size.num_codebooks)
            self.queries = normal_parameter((num_embeddings, size.num_codebooks * part_dim), 1.0, generator)
            self.keys = normal_parameter((*shape[:2], part_dim), 1.0, generator)

    @property
    def num_codebooks(self) -> int:
        """M, the number of codewords in a sum."""
        return self.codebooks.shape[0]

    @property
    def num_codewords(self) -> int:
        """C, the number of codewords to choose from in each codebook."""
        return self.codebooks.shape[1]

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the sums of codewords of ids, in training with the gradient of a softmax over codewords."""
        if self.finished:
            return self._sums(self.codes[ids])
        distinct, places = torch.unique(ids, return_inverse=True)  # to choose among codewords is what costs
        likeness = self._likeness(distinct)
        chosen = self._sums(likeness.argmax(dim=2))
        if torch.is_grad_enabled():
            soft = torch.einsum("bmc,mcd->bd", likeness.softmax(dim=2), self.codebooks.detach())
            chosen = chosen + (soft - soft.detach())  # the value of the chosen, the gradient of the softmax
        return functional.embedding(places, chosen)

    def finish(self) -> None:
        """Keep every id's codes, and forget the queries and keys that found them."""
        if self.finished:
            return
        with torch.no_grad():
            blocks = torch.split(torch.arange(self.num_embeddings, device=self.device), ROWS_AT_ONCE)
            codes = torch.cat([self._likeness(block).argmax(dim=2) for block in blocks])
        self.register_buffer("codes", codes.to(torch.uint8))
        del self.queries, self.keys
        self.finished = True

    def config(self) -> dict[str, Any]:
        """Return the arguments that build this table's shapes."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "num_codewords": self.num_codewords,
            "num_codebooks": self.num_codebooks,
            "finished": self.finished,
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(
        cls,
        weight: Float[Tensor, "V D"],
        *,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
        **size: Any,
    ) -> Self:
        """Return a finished table close to `weight`, by `additive_kmeans`."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, finished=True, **size)
        codebooks, codes = additive_kmeans(
            values.cpu().numpy(), table.num_codebooks, table.num_codewords, random_state=random_state
        )
        with torch.no_grad():
            table.codebooks.copy_(torch.from_numpy(codebooks))
            table.codes.copy_(torch.from_numpy(codes))
        return table.to(values.device)

    def _likeness(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B M C"]:
        parts = functional.embedding(ids, self.queries)
        parts = parts.reshape(len(ids), self.num_codebooks, self.queries.shape[1] // self.num_codebooks)
        return torch.einsum("bmp,mcp->bmc", parts, self.keys).div(self.keys.shape[2] ** 0.5)

    def _sums(self, codes: Int[Tensor, "B M"]) -> Float[Tensor, "B D"]:
        first = torch.arange(self.num_codebooks, device=codes.device) * self.num_codewords
        return functional.embedding_bag(codes.long() + first, self.codebooks.flatten(0, 1), mode="sum")


def additive_kmeans(
    weight: Float[np.ndarray, "V D"],
    num_codebooks: int,
    num_codewords: int,
    *,
    sweeps: int = 10,
    random_state: RandomState = 0,
) -> tuple[Float[np.ndarray, "M C D"], Int[np.ndarray, "V M"]]:
    """Return codebooks and codes that minimise Σᵢ ‖wᵢ − Σ_m codebooks[m, codes[i, m]]‖² by k-means on what is left.

    Codebook m begins with far-apart rows of what the first m − 1 leave of `weight`. In every sweep each codebook in
    turn takes one k-means step on what all the others leave, so the error never rises.
    """
    generator = numpy_generator(random_state)
    codebooks = np.zeros((num_codebooks, num_codewords, weight.shape[1]), dtype=np.float32)
    codes = np.zeros((len(weight), num_codebooks), dtype=np.uint8)
    left = weight.astype(np.float32)
    for sweep in range(sweeps):
        for book in range(num_codebooks):
            left += codebooks[book, codes[:, book]]
            if sweep == 0:
                codebooks[book] = far_apart(left, num_codewords, generator)
            codes[:, book] = nearest_centres(left, codebooks[book])
            codebooks[book] = member_means(left, codes[:, book], codebooks[book])
            left -= codebooks[book, codes[:, book]]
    return codebooks, codes
