"""Every table of vectors by the name it has in experiments, records and `compress_embeddings_`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.mixture import AnchorMixture
from gossamer.models.embeddings.rivals.codes import CompositionalCodeEmbedding
from gossamer.models.embeddings.rivals.dense import DenseEmbedding
from gossamer.models.embeddings.rivals.group_lasso import GroupLassoEmbedding
from gossamer.models.embeddings.rivals.hashing import HashEmbedding, QuotientRemainderEmbedding
from gossamer.models.embeddings.rivals.int8 import Int8Embedding
from gossamer.models.embeddings.rivals.ksvd import KSvdEmbedding
from gossamer.models.embeddings.rivals.low_rank import LowRankEmbedding
from gossamer.models.embeddings.rivals.mixed_dim import MixedDimEmbedding
from gossamer.models.embeddings.rivals.sparse_code import SparseCodeEmbedding
from gossamer.models.embeddings.rivals.sparse_hash import SparseHashEmbedding
from gossamer.models.embeddings.rivals.tensor_train import TensorTrainEmbedding
from gossamer.models.embeddings.rivals.variational import (
    SparseVariationalEmbedding,
    SparseVariationalVocabularyEmbedding,
    VariationalVocabularyEmbedding,
)
from gossamer.models.embeddings.rivals.vocabulary import FrequencySelection, TfIdfSelection
from gossamer.models.embeddings.table import EmbeddingTable

_KNOWN: tuple[type[EmbeddingTable], ...] = (
    DenseEmbedding,
    AnchorEmbedding,
    AnchorMixture,
    LowRankEmbedding,
    TensorTrainEmbedding,
    HashEmbedding,
    QuotientRemainderEmbedding,
    MixedDimEmbedding,
    FrequencySelection,
    TfIdfSelection,
    GroupLassoEmbedding,
    VariationalVocabularyEmbedding,
    SparseVariationalEmbedding,
    SparseVariationalVocabularyEmbedding,
    CompositionalCodeEmbedding,
    Int8Embedding,
    SparseCodeEmbedding,
    SparseHashEmbedding,
    KSvdEmbedding,
)
TABLES: dict[str, type[EmbeddingTable]] = {table.method: table for table in _KNOWN}


def find_table(method: str) -> type[EmbeddingTable]:
    """Return the class of a method, or name all methods.

    >>> find_table("lowrank").__name__
    'LowRankEmbedding'
    """
    return TABLES[check_choice("method", method, TABLES)]


def takes_counts(table: type[EmbeddingTable]) -> bool:
    """Return whether a table's constructor wants to know how important each id is."""
    return "counts" in inspect.signature(table.__init__).parameters


def make_table(
    method: str, num_embeddings: int, embedding_dim: int, *, counts: np.ndarray | None = None, **options: Any
) -> EmbeddingTable:
    """Return a new table; `counts`, one number per id, goes to the methods that want it.

    >>> make_table("frequency", 100, 8, ratio=10, counts=np.arange(100)).num_values()
    80
    """
    table = find_table(method)
    if takes_counts(table):
        options["counts"] = counts
    wrong = sorted(set(options) - set(inspect.signature(table.__init__).parameters))
    if wrong:
        known = sorted(set(inspect.signature(table.__init__).parameters) - {"self", "num_embeddings", "embedding_dim"})
        raise ValueError(f"options of {method} must be among {known}, got {wrong}")
    return table(num_embeddings, embedding_dim, **options)
