"""`SparseCodes`: exact nearest neighbours among millions of sparse codes, in about as many bytes as the codes need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float64, Int, Int64
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from gossamer.core.checks import check_choice, check_int
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.discrete.code_blocks import MAX_COUNT, CodeBlocks
from gossamer.models.discrete.code_kernels import COSINE, HAMMING, JACCARD, SHARED
from gossamer.persistence import JSON, Persistent

SIMILARITIES = {"shared": SHARED, "jaccard": JACCARD, "cosine": COSINE, "hamming": HAMMING}


@dataclass(frozen=True)
class Neighbours:
    """The most similar codes of each query, best first; among equally similar ones the lower row comes first.

    `names` are those of the rows, None where the codes have none.
    """

    rows: Int64[np.ndarray, "B k"]
    similarities: Float64[np.ndarray, "B k"]
    names: list[list[str | int]] | None = None

    def __len__(self) -> int:
        return len(self.rows)


class SparseCodes(Persistent, BaseEstimator):
    """Sparse codes, stored so that the nearest ones of a query are found exactly and fast.

    Codes are rows of 0 and 1 or of small counts, as `SparseDiscreteVAE.transform` returns them. For counts a and b:

    - "shared": Σ min(a, b), the number of shared features;
    - "jaccard": Σ min(a, b) / Σ max(a, b);
    - "cosine": a·b / (‖a‖ ‖b‖);
    - "hamming": −Σ |a − b|, minus the number of differing features, so that larger is more similar, too.

    Two empty codes are equal: their Jaccard similarity and their cosine are 1. `similarity` is what `search` uses
    unless it is told otherwise.

    >>> codes = SparseCodes().fit([[1, 1, 0], [0, 1, 1], [0, 0, 1]], names=["tea", "coffee", "water"])
    >>> codes.search([0, 1, 1], k=2).names
    [['coffee', 'water']]
    """

    def __init__(self, *, similarity: str = "jaccard") -> None:
        self.similarity = similarity

    def fit(self, codes: Any, names: Vocabulary | Iterable[str] | Iterable[int] | None = None) -> Self:
        """Store codes (N, K), sparse or dense, and the names of their rows."""
        check_choice("similarity", self.similarity, SIMILARITIES)
        matrix = read_codes("codes", codes)
        if matrix.shape[1] < 1:
            raise ValueError(f"codes must have at least one column, got shape {matrix.shape}")
        if matrix.shape[0] < 1:
            raise ValueError(f"codes must have at least one row, got shape {matrix.shape}")
        vocabulary = names if names is None or isinstance(names, Vocabulary) else Vocabulary(names)
        if vocabulary is not None and len(vocabulary) != matrix.shape[0]:
            raise ValueError(f"names must be as many as the {matrix.shape[0]} codes, got {len(vocabulary)}")
        self.blocks_ = CodeBlocks.build(matrix)
        self.names_ = vocabulary
        return self

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of codes and of features."""
        return self._fitted().shape

    @property
    def nbytes(self) -> int:
        """Bytes that search needs, names not counted."""
        return self._fitted().nbytes

    def rows(self, rows: Int[np.ndarray, " n"] | Iterable[int]) -> sparse.csr_array:
        """Return the codes of rows by their numbers, for example to search for what is like them."""
        blocks = self._fitted()
        wanted = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise ValueError(f"rows must be a list of integers, got {wanted.dtype} of shape {wanted.shape}")
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < len(self)):
            raise ValueError(f"rows must be from 0 to {len(self) - 1}, got {wanted.min()} to {wanted.max()}")
        return blocks.rows(wanted.astype(np.int64))

    def named(self, names: Iterable[str] | Iterable[int]) -> sparse.csr_array:
        """Return the codes of rows by their names."""
        self._fitted()
        if self.names_ is None:
            raise ValueError("names must have been given to fit before codes can be found by them; use rows")
        return self.rows(self.names_.index_of(list(names), "name"))

    def search(self, query: Any, k: int = 10, *, similarity: str | None = None) -> Neighbours:
        """Return the k most similar codes of each row of `query`: one code (K,), or many (B, K), sparse or dense.

        The answer is exact. Where there are fewer than k codes, it has all of them.
        """
        blocks = self._fitted()
        check_int("k", k, at_least=1)
        chosen = check_choice("similarity", self.similarity if similarity is None else similarity, SIMILARITIES)
        queries = read_codes("query", query)
        if queries.shape[1] != self.shape[1]:
            raise ValueError(f"query must have {self.shape[1]} columns, as the codes have, got {queries.shape[1]}")
        rows, keys = blocks.nearest(queries, min(int(k), len(self)), SIMILARITIES[chosen])
        if chosen == "cosine":  # the key is cos² times the query's squared norm, and 1 for two empty codes
            squares = np.asarray(queries.multiply(queries).sum(axis=1), dtype=np.float64).reshape(-1, 1)
            keys = np.sqrt(keys / np.maximum(squares, 1))
        return Neighbours(rows, keys, None if self.names_ is None else _names_of(self.names_, rows))

    def learned_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the stored planes, see `CodeBlocks`."""
        return self._fitted().arrays()

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the rows' names, where they have any."""
        self._fitted()
        return {} if self.names_ is None else {"names": self.names_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the number of codes: the last block may have room for more."""
        return {"num_rows": len(self)}

    def restore(
        self, arrays: dict[str, NDArray[Any]], vocabularies: dict[str, Vocabulary], metadata: dict[str, JSON]
    ) -> None:
        """Take back the learned state."""
        check_choice("similarity", self.similarity, SIMILARITIES)
        num_rows = check_int("num_rows", metadata.get("num_rows"), at_least=1)
        self.blocks_ = CodeBlocks.from_arrays(num_rows, arrays)
        self.names_ = vocabularies.get("names")
        if self.names_ is not None and len(self.names_) != num_rows:
            raise ValueError(f"names must be as many as the {num_rows} codes, got {len(self.names_)}")

    def _fitted(self) -> CodeBlocks:
        if not hasattr(self, "blocks_"):
            raise NotFittedError("SparseCodes must be fitted before it is used; call fit with codes")
        blocks: CodeBlocks = self.blocks_
        return blocks


def read_codes(name: str, codes: Any) -> sparse.csr_array:
    """Return codes as a canonical CSR of positive counts, or raise a ValueError that says what is wrong with them."""
    if sparse.issparse(codes):
        matrix = sparse.csr_array(codes)
    else:
        dense = np.asarray(codes)
        if dense.dtype.kind not in "biuf" or dense.ndim not in (1, 2):
            raise ValueError(f"{name} must be codes of shape (rows, features), got {dense.dtype} {dense.shape}")
        matrix = sparse.csr_array(np.atleast_2d(dense))
    if matrix.data.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold 0 and 1 or counts, got {matrix.dtype}")
    values = matrix.data
    wrong = ~((values >= 0) & (values <= MAX_COUNT) & (values == np.floor(values)))  # so written, NaN is wrong
    if wrong.any():
        entry = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise ValueError(
            f"{name} must hold whole numbers from 0 to {MAX_COUNT}, got {values[entry]} "
            f"in row {row}, column {matrix.indices[entry]}"
        )
    whole = sparse.csr_array((values.astype(np.int64), matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    whole.sum_duplicates()
    whole.eliminate_zeros()
    if whole.nnz and whole.data.max() > MAX_COUNT:
        raise ValueError(f"{name} must hold whole numbers from 0 to {MAX_COUNT}, got {whole.data.max()}")
    return whole


def _names_of(names: Vocabulary, rows: Int64[np.ndarray, "B k"]) -> list[list[str | int]]:
    found = names.ids.gather(rows.reshape(-1)).to_list()
    width = rows.shape[1]
    return [found[start : start + width] for start in range(0, len(found), width)]
