"""Hashed embeddings: ids share vectors because a function of the id says so, not because they are alike."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, numpy_generator, torch_generator
from gossamer.models.embeddings.rivals.fitting import fit_shared, fit_weights
from gossamer.models.embeddings.rivals.vocabulary import find_kept
from gossamer.models.embeddings.sizing import INITIAL_STD, affordable, by_importance, check_one_size, normal_parameter
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained

PRIME = 2**31 - 1  # a·id + b stays below 2⁶² for every id that torch can index


class HashEmbedding(EmbeddingTable):
    """Own vectors for the `num_kept` most important ids; the rest are combinations of `num_buckets` shared vectors.

    With `num_hashes` = k ≥ 2 an id is Σ_j weight[id, j] · bucket[hash_j(id)] with learned weights (Svenstrup et al.,
    equation 2), which cost k numbers per hashed id. With `num_hashes` = 1 it is bucket[hash(id)] and costs nothing:
    this and `num_kept` is the rival of the ANT paper's table 12. Values: (num_kept + num_buckets)·D, and
    (V − num_kept)·k weights if k ≥ 2. `counts` says what is important; without it ids are in that order already.

    Reference: Svenstrup, Hansen, Winther, "Hash embeddings for efficient word representations", NeurIPS 2017.

    >>> HashEmbedding(1000, 64, num_buckets=50).num_values(), HashEmbedding(1000, 64, 50, num_hashes=1).num_values()
    (5200, 3200)
    """

    method: ClassVar[str] = "hash"
    kept: Int[Tensor, " n"]
    hashes: Int[Tensor, "k 2"]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_buckets: int | None = None,
        *,
        ratio: float | None = None,
        num_kept: int = 0,
        num_hashes: int = 2,
        counts: np.ndarray | None = None,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        check_one_size("num_buckets", num_buckets, ratio)
        self.num_hashes = check_int("num_hashes", num_hashes, at_least=1)
        self.num_kept = check_int("num_kept", num_kept, at_least=0, at_most=num_embeddings - 1)
        num_hashed = num_embeddings - self.num_kept
        if ratio is not None:
            fixed = self.num_kept * embedding_dim + (num_hashed * num_hashes if num_hashes > 1 else 0)
            advice = f" with num_kept={num_kept} and num_hashes={num_hashes} (num_hashes=1 needs no weights)"
            budget = affordable(num_embeddings, embedding_dim, ratio, smallest=fixed + embedding_dim, advice=advice)
            num_buckets = min((budget - fixed) // embedding_dim, num_hashed)
        self.num_buckets = check_int("num_buckets", num_buckets, at_least=1, at_most=num_hashed)
        kept = np.sort(by_importance(num_embeddings, counts, padding_idx)[: self.num_kept])
        self.register_buffer("kept", torch.from_numpy(kept.astype(np.int32)))
        multipliers = numpy_generator(random_state).integers(1, PRIME, size=(num_hashes, 2))
        self.register_buffer("hashes", torch.from_numpy(multipliers))
        generator = torch_generator(random_state)
        shape = (self.num_kept + self.num_buckets, embedding_dim)
        self.vectors = normal_parameter(shape, INITIAL_STD, generator)  # the kept first, then the buckets
        self.weights: nn.Parameter | None = None
        if num_hashes > 1:  # squares sum to one on average, so that hashed vectors start as long as kept ones
            self.weights = normal_parameter((num_hashed, num_hashes), num_hashes**-0.5, generator)

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return vectors of kept ids, and (weighted) sums of bucket vectors of the others."""
        places, weights = self.places_of(ids)
        return functional.embedding_bag(places, self.vectors, per_sample_weights=weights, mode="sum")

    def places_of(self, ids: Int[Tensor, " B"]) -> tuple[Int[Tensor, "B k"], Float[Tensor, "B k"]]:
        """Return which of `vectors` make up each id, and how much of each."""
        own, is_kept = self._find_kept(ids)
        hashed = (self.hashes[:, 0] * ids.unsqueeze(1) + self.hashes[:, 1]) % PRIME % self.num_buckets + self.num_kept
        places = torch.where(is_kept.unsqueeze(1), own.unsqueeze(1), hashed)
        first = functional.one_hot(torch.zeros_like(ids), self.num_hashes).to(self.vectors.dtype)
        if self.weights is None:
            return places, first
        # Weights are kept for hashed ids alone, in the order of ids.
        place = (ids - torch.searchsorted(self.kept, ids.to(self.kept.dtype))).clamp(max=len(self.weights) - 1)
        weights = functional.embedding(place, self.weights)
        return places, torch.where(is_kept.unsqueeze(1), first, weights)

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return scores of the stored vectors, combined per id: num_hashes, not D, multiplications per score."""
        stored = functional.linear(hidden, self.vectors)
        places, weights = self.places_of(torch.arange(self.num_embeddings, device=hidden.device))
        scores = sum(stored.index_select(-1, places[:, j]) * weights[:, j] for j in range(self.num_hashes))
        assert isinstance(scores, Tensor)
        return self.clear_padding(scores)

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments; hash functions and kept ids are stored, not configured."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "num_buckets": self.num_buckets,
            "num_kept": self.num_kept,
            "num_hashes": self.num_hashes,
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return a table fitted to `weight`: vectors and weights in turn, each by least squares."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size).to(values.device)
        everything = torch.arange(table.num_embeddings, device=values.device)
        with torch.no_grad():
            table.vectors.copy_(values.mean(0))
            for _ in range(1 if table.weights is None else 10):
                table._fit_vectors(everything, values)
                if table.weights is not None:
                    hashed = everything[~table._find_kept(everything)[1]]
                    table.weights.copy_(fit_weights(table.vectors, table.places_of(hashed)[0], values[hashed]))
        return table

    def _fit_vectors(self, ids: Tensor, target: Tensor) -> None:
        places, weights = (tensor.cpu().numpy() for tensor in self.places_of(ids))
        rows = np.repeat(np.arange(len(ids)), self.num_hashes)
        entries = (weights.ravel().astype(np.float64), (rows, places.ravel()))
        mixing = sparse.csr_array(entries, shape=(len(ids), len(self.vectors)))
        shared = fit_shared(mixing, target.cpu().numpy(), self.vectors.detach().cpu().numpy())
        self.vectors.copy_(torch.from_numpy(shared))

    def _find_kept(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        if self.num_kept == 0:
            return torch.zeros_like(ids), torch.zeros_like(ids, dtype=torch.bool)
        return find_kept(self.kept, ids)


class QuotientRemainderEmbedding(EmbeddingTable):
    """E_i = quotients[i ÷ m] ∘ remainders[i mod m]: no two ids share both, so all vectors differ.

    (m + ⌈V/m⌉)·D numbers; a ratio chooses the largest m that fits. Reference: Shi, Mudigere, Naumov, Yang,
    "Compositional embeddings using complementary partitions for memory-efficient recommendation systems", KDD 2020
    (the element-wise product, which they found best).

    >>> QuotientRemainderEmbedding(10_000, 64, num_remainders=100).num_values()
    12800
    """

    method: ClassVar[str] = "quotient-remainder"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_remainders: int | None = None,
        *,
        ratio: float | None = None,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        check_one_size("num_remainders", num_remainders, ratio)
        if ratio is not None:
            num_remainders = most_remainders(num_embeddings, embedding_dim, ratio)
        self.num_remainders = check_int("num_remainders", num_remainders, at_least=1, at_most=num_embeddings)
        num_quotients = -(-num_embeddings // self.num_remainders)
        generator = torch_generator(random_state)
        self.quotients = normal_parameter((num_quotients, embedding_dim), INITIAL_STD**0.5, generator)
        self.remainders = normal_parameter((self.num_remainders, embedding_dim), INITIAL_STD**0.5, generator)

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the product of both parts' vectors."""
        quotient = functional.embedding(ids // self.num_remainders, self.quotients)
        return quotient * functional.embedding(ids % self.num_remainders, self.remainders)

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "num_remainders": self.num_remainders,
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return a table fitted to `weight` by alternating least squares, one part at a time exactly."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size).to(values.device)
        quotients, remainders = table.quotients.data, table.remainders.data
        shape = (len(quotients), len(remainders), values.shape[1])
        missing = shape[0] * shape[1] - len(values)  # of the last quotient
        target = functional.pad(values, (0, 0, 0, missing)).reshape(shape)
        there = torch.ones_like(target)
        there[-1, shape[1] - missing :] = 0
        # Every column is a rank-one problem of its own; its heaviest quotient shows best what the remainders are.
        heaviest = target.square().sum(1).argmax(0)
        remainders.copy_(target.gather(0, heaviest.expand(1, *remainders.shape))[0])
        for _ in range(20):
            quotients.copy_((target * remainders).sum(1) / (there * remainders**2).sum(1).clamp(min=1e-12))
            products = (target * quotients.unsqueeze(1)).sum(0)
            remainders.copy_(products / (there * quotients.unsqueeze(1) ** 2).sum(0).clamp(min=1e-12))
        return table


def most_remainders(num_embeddings: int, embedding_dim: int, ratio: float) -> int:
    """Return the largest m with (m + ⌈V/m⌉)·D numbers within the ratio.

    >>> most_remainders(10_000, 64, 2)
    4997
    """
    root = math.isqrt(num_embeddings)
    smallest = min(m + -(-num_embeddings // m) for m in range(root, root + 2))
    budget = affordable(num_embeddings, embedding_dim, ratio, smallest=smallest * embedding_dim)
    num_rows = budget // embedding_dim
    return next(m for m in range(num_rows, 0, -1) if m + -(-num_embeddings // m) <= num_rows)
