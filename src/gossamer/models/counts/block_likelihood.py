"""log p(x | h) of a block of documents and its gradient in h, one product of matrices each way."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.module import Decoder

# A block of logits stays in the cache, but has rows enough for products of matrices to be efficient.
BLOCK_VALUES, MIN_BLOCK_ROWS = 2**18, 64


def row_blocks(num_rows: int, num_terms: int) -> list[slice]:
    """Cut rows into consecutive blocks of about 2¹⁸ logits, but at least 64 rows.

    >>> row_blocks(150, 10_000)
    [slice(0, 64, None), slice(64, 128, None), slice(128, 150, None)]
    """
    size = max(MIN_BLOCK_ROWS, BLOCK_VALUES // num_terms)
    return [slice(begin, min(begin + size, num_rows)) for begin in range(0, num_rows, size)]


@dataclass(frozen=True, eq=False)
class BlockLikelihood:
    """log p(x | h) = h·(Wᵀx) + b·x − N log Σ_v exp(W h + b)_v: of x, only Wᵀx, b·x and N are ever needed."""

    weight: Float[Tensor, "V H"]
    bias: Float[Tensor, " V"]
    evidence: Float[Tensor, "B H"]  # Wᵀx
    bias_evidence: Float[Tensor, "B 1"]  # b·x
    lengths: Float[Tensor, "B 1"]  # N

    @classmethod
    def of_rows(cls, decoder: Decoder, batch: CountBatch, rows: slice) -> BlockLikelihood:
        """Look up what a decoder has to say of the words of some consecutive documents."""
        weight, bias = decoder.weight.detach(), decoder.bias.detach()
        offsets = batch.offsets[rows.start : rows.stop + 1]
        nonzeros = slice(int(offsets[0]), int(offsets[-1]))
        terms, counts = batch.terms[nonzeros], batch.counts[nonzeros].to(weight.dtype)

        def total(table: Float[Tensor, "V D"]) -> Float[Tensor, "B D"]:
            return functional.embedding_bag(
                terms, table, offsets - offsets[0], per_sample_weights=counts, mode="sum", include_last_offset=True
            )

        lengths = batch.lengths[rows].unsqueeze(1).to(weight.dtype)
        return cls(weight, bias, total(weight), total(bias.unsqueeze(1)), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: Tensor) -> BlockLikelihood:
        """Return the block with some of its documents only, by a mask or by their numbers."""
        return BlockLikelihood(
            self.weight, self.bias, self.evidence[rows], self.bias_evidence[rows], self.lengths[rows]
        )

    def logits_space(self) -> Float[Tensor, "B V"]:
        """Return room for the logits of all documents, to be used again and again."""
        return self.weight.new_empty(len(self), len(self.weight))

    def value_and_gradient(
        self, hidden: Float[Tensor, "B H"], space: Float[Tensor, "B V"]
    ) -> tuple[Float[Tensor, " B"], Float[Tensor, "B H"]]:
        """Return log p(x | h) and Wᵀ(x − N p); `space` is overwritten."""
        torch.addmm(self.bias, hidden, self.weight.T, out=space)
        log_total, total = exponentiate(space)
        value = self.linear_part(hidden) - self.lengths * log_total
        return value.squeeze(1), torch.addcmul(self.evidence, space @ self.weight, self.lengths / total, value=-1)

    def linear_part(self, hidden: Float[Tensor, "B H"]) -> Float[Tensor, "B 1"]:
        """Return h·(Wᵀx) + b·x."""
        return (hidden * self.evidence).sum(dim=1, keepdim=True) + self.bias_evidence


def exponentiate(logits: Float[Tensor, "B V"]) -> tuple[Float[Tensor, "B 1"], Float[Tensor, "B 1"]]:
    """Replace logits by numbers in proportion to their softmax, the largest being 1; return log-sum-exp and their sum.

    Not to divide by the sum spares a walk over B × V numbers: what comes of their products is B × K.
    """
    largest = logits.amax(dim=1, keepdim=True)
    total = logits.sub_(largest).exp_().sum(dim=1, keepdim=True)
    return largest + total.log(), total
