"""Sparse code of a pretrained table: rare words as combinations of a few common ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from gossamer.core.randomness import RandomState
from gossamer.models.embeddings.rivals.coded import CodedEmbedding
from gossamer.models.embeddings.rivals.matching_pursuit import match_rows
from gossamer.models.embeddings.rivals.vocabulary import find_kept
from gossamer.models.embeddings.sizing import by_importance


class SparseCodeEmbedding(CodedEmbedding):
    """The `num_anchors` most common words keep their pretrained vectors; every other word is a mix of a few of these.

    Values: K·D + (V − K)·S. `counts` says which words are common; without it, ids are in that order already. The
    original finds weights by a penalised least-squares problem that discourages negative ones; here they are found by
    matching pursuit and may have either sign, which fits better at the same size.

    Reference: Chen et al., "Compressing neural language models by sparse word representations", ACL 2016.
    """

    method: ClassVar[str] = "sparse-code"
    common: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_anchors: int | None = None,
        *,
        ratio: float | None = None,
        num_slots: int | None = None,
        counts: np.ndarray | None = None,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            num_anchors,
            ratio=ratio,
            num_slots=num_slots,
            padding_idx=padding_idx,
            random_state=random_state,
        )
        common = np.sort(by_importance(num_embeddings, counts, padding_idx)[: self.num_anchors])
        self.register_buffer("common", torch.from_numpy(common.astype(np.int32)))

    @property
    def num_coded(self) -> int:
        """The number of words that are not common."""
        return self.num_embeddings - self.num_anchors

    def codes_of(self, ids: Int[Tensor, " B"]) -> tuple[Int[Tensor, "B S"], Float[Tensor, "B S"]]:
        """Return the weights of rare words, and for a common word weight 1 on itself."""
        if self.num_coded == 0:
            return ids.unsqueeze(1), self.anchors.new_ones(len(ids), 1)
        places, is_common = find_kept(self.common, ids)
        # An id comes after all common ids below it: what is left of its number counts the rare ones.
        rare = (ids - torch.searchsorted(self.common, ids.to(self.common.dtype))).clamp(max=self.num_coded - 1)
        itself = functional.one_hot(torch.zeros_like(ids), self.num_slots)
        is_common = is_common.unsqueeze(1)
        slots = torch.where(is_common, places.unsqueeze(1), self.slots[rare].long())
        return slots, torch.where(is_common, itself, functional.embedding(rare, self.values))

    def fit_rows(
        self,
        weight: Float[np.ndarray, "V D"],
        random_state: RandomState,  # noqa: ARG002
    ) -> tuple[Float[np.ndarray, "K D"], csr_array]:
        """Return the vectors of common words, and the codes of all others by matching pursuit."""
        common = self.common.numpy()
        anchors = weight[common]
        if self.num_coded == 0:
            return anchors, csr_array((0, self.num_anchors), dtype=np.float32)
        return anchors, match_rows(np.delete(weight, common, axis=0), anchors, self.num_slots)
