"""Tables made from a trained one: anchors, and a few signed weights per row, E ≈ T·A without T ≥ 0."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from gossamer.core.randomness import RandomState, numpy_generator, torch_generator
from gossamer.models.embeddings.anchor_size import anchor_size
from gossamer.models.embeddings.rivals.weight_selection import index_dtype
from gossamer.models.embeddings.sizing import INITIAL_STD, normal_parameter
from gossamer.models.embeddings.slots import spread_slots
from gossamer.models.embeddings.sparse_rows import slots_of
from gossamer.models.embeddings.table import EmbeddingTable, budget_of, check_pretrained


class CodedEmbedding(EmbeddingTable):
    """Every row is a combination of at most `num_slots` of `num_anchors` vectors: K·D + V·S values.

    `from_pretrained` chooses anchors, slots and weights; a new table has random ones. Training moves anchors and
    weights, and leaves the choice of slots alone.
    """

    is_post_hoc: ClassVar[bool] = True
    slots: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_anchors: int | None = None,
        *,
        ratio: float | None = None,
        num_slots: int | None = None,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        if ratio is not None and num_slots is None:  # as in appendix I.2: half the numbers in anchors, half in weights
            budget = budget_of(num_embeddings, embedding_dim, ratio)
            num_slots = max(1, budget // (2 * max(num_embeddings, embedding_dim)))
        size = anchor_size(num_embeddings, embedding_dim, num_anchors, ratio, num_slots)
        self.num_anchors, self.num_slots = size.num_anchors, size.num_slots
        generator = torch_generator(random_state)
        slots = spread_slots(self.num_coded, self.num_anchors, self.num_slots, numpy_generator(random_state))
        self.register_buffer("slots", torch.from_numpy(slots).to(index_dtype(self.num_anchors)))
        self.anchors = normal_parameter((self.num_anchors, embedding_dim), INITIAL_STD, generator)
        self.values = normal_parameter((self.num_coded, self.num_slots), self.num_slots**-0.5, generator)

    @property
    def num_coded(self) -> int:
        """The number of rows that have weights."""
        return self.num_embeddings

    @abstractmethod
    def fit_rows(
        self, weight: Float[np.ndarray, "V D"], random_state: RandomState
    ) -> tuple[Float[np.ndarray, "K D"], csr_array]:
        """Return anchors and the codes (`num_coded`, K) of a trained table, at most `num_slots` to a row."""

    def codes_of(self, ids: Int[Tensor, " B"]) -> tuple[Int[Tensor, "B S"], Float[Tensor, "B S"]]:
        """Return which anchors each id uses, and with which weights."""
        return self.slots[ids].long(), functional.embedding(ids, self.values)

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return Σ_s values[i, s] · anchors[slots[i, s]] for each id."""
        slots, values = self.codes_of(ids)
        return functional.embedding_bag(slots, self.anchors, per_sample_weights=values, mode="sum")

    def config(self) -> dict[str, Any]:
        """Return the arguments that build this table's shapes."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "num_anchors": self.num_anchors,
            "num_slots": self.num_slots,
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
        """Return a table close to `weight`, by `fit_rows`."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size)
        anchors, codes = table.fit_rows(values.cpu().numpy(), random_state)
        slots, weights = slots_of(codes, table.num_slots)
        with torch.no_grad():
            table.anchors.copy_(torch.from_numpy(anchors))
            table.values.copy_(torch.from_numpy(weights))
            table.slots.copy_(
                torch.from_numpy(np.maximum(slots, 0))
            )  # a free slot has weight zero, whatever its anchor
        return table.to(values.device)
