"""Vocabulary selection: own vectors for the most important ids, zeros for all others (appendix H of the ANT paper)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.embeddings.sizing import INITIAL_STD, affordable, by_importance, check_one_size, normal_parameter
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained


class FrequencySelection(EmbeddingTable):
    """The `num_kept` ids of largest `counts` have vectors of their own, all others embed to zeros.

    `num_kept`·D numbers and one index per kept id. Without `counts`, ids are taken to be sorted by importance, as
    vocabularies usually are. Padding is never kept while another id can be.

    Reference: Luong, Pham, Manning, "Effective approaches to attention-based neural machine translation", EMNLP 2015.

    >>> FrequencySelection(4, 2, num_kept=2, counts=np.array([3, 9, 0, 5])).kept.tolist()
    [1, 3]
    """

    method: ClassVar[str] = "frequency"
    kept: Int[Tensor, " n"]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_kept: int | None = None,
        *,
        ratio: float | None = None,
        counts: np.ndarray | None = None,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        check_one_size("num_kept", num_kept, ratio)
        if ratio is not None:
            num_kept = affordable(num_embeddings, embedding_dim, ratio, smallest=embedding_dim) // embedding_dim
        self.num_kept = check_int("num_kept", num_kept, at_least=1, at_most=num_embeddings)
        kept = np.sort(by_importance(num_embeddings, counts, padding_idx)[: self.num_kept])
        self.register_buffer("kept", torch.from_numpy(kept.astype(np.int32)))
        self.vectors = normal_parameter((self.num_kept, embedding_dim), INITIAL_STD, torch_generator(random_state))

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the vectors of kept ids, zeros for others."""
        position, is_kept = find_kept(self.kept, ids)
        return functional.embedding(position, self.vectors) * is_kept.unsqueeze(1)

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return hidden · vectorsᵀ for kept ids and zero for others."""
        scores = hidden.new_zeros(*hidden.shape[:-1], self.num_embeddings)
        scores = scores.index_copy(-1, self.kept.long(), functional.linear(hidden, self.vectors))
        return self.clear_padding(scores)

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments; which ids are kept is stored, not configured."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "num_kept": self.num_kept,
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return the kept rows of `weight` as they are, the others as zeros."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size).to(values.device)
        table.vectors.data.copy_(values[table.kept.long()])
        return table


class TfIdfSelection(FrequencySelection):
    """The same with `counts` from `tf_idf_scores`: words that are frequent where they occur, and not everywhere.

    Reference: Ramos, "Using tf-idf to determine word relevance in document queries", 2003.
    """

    method: ClassVar[str] = "tfidf"


def find_kept(kept: Int[Tensor, " n"], ids: Int[Tensor, " B"]) -> tuple[Int[Tensor, " B"], Bool[Tensor, " B"]]:
    """Return where each id is in the sorted `kept`, and whether it is there at all (if not, some valid place).

    >>> find_kept(torch.tensor([2, 5]), torch.tensor([5, 3]))
    (tensor([1, 1]), tensor([ True, False]))
    """
    position = torch.searchsorted(kept, ids.to(kept.dtype)).clamp_(max=len(kept) - 1)
    return position, kept[position] == ids


def tf_idf_scores(counts: sparse.csr_array) -> Float[np.ndarray, " V"]:
    """Return Σ_d tf(d, v) · log(N / df(v)) for every term of an N × V matrix of counts, tf relative within a document.

    >>> tf_idf_scores(sparse.csr_array([[1, 1, 0], [1, 0, 3]])).round(2).tolist()
    [0.0, 0.35, 0.52]
    """
    matrix = sparse.csr_array(counts, dtype=np.float64)
    lengths = np.maximum(matrix.sum(axis=1), 1.0)
    frequency = (1.0 / lengths) @ matrix
    documents = np.asarray((matrix > 0).sum(axis=0)).reshape(-1)
    return np.asarray(frequency * np.log(matrix.shape[0] / np.maximum(documents, 1)))
