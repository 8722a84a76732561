"""How often each term occurs in each document, as compressed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gossamer.data.content import Rows, check_labels, fingerprint, read_only, row_numbers
from gossamer.data.shown import NUM_PARTS, NUM_ROWS, Shown, join_first
from gossamer.data.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Counts(Shown):
    """Immutable documents × terms counts (D × V), with optional document ids and class labels.

    >>> from scipy.sparse import csr_array
    >>> data = Counts(csr_array([[2, 0], [0, 1]]), Vocabulary(["ham", "eggs"]))
    >>> len(data), data.describe()["tokens"]
    (2, 3)
    """

    matrix: sparse.csr_array
    terms: Vocabulary
    documents: Vocabulary | None = None
    labels: np.ndarray | None = None
    label_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        matrix = sparse.csr_array(self.matrix, dtype=np.float32)
        if matrix is not self.matrix and not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if matrix.shape[1] != len(self.terms):
            raise ValueError(f"matrix must have one column per term ({len(self.terms)}), got {matrix.shape[1]}")
        invalid = ~(np.isfinite(matrix.data) & (matrix.data >= 0))
        if invalid.any():
            bad = int(np.argmax(invalid))
            row = int(np.searchsorted(matrix.indptr, bad, side="right")) - 1
            raise ValueError(
                f"matrix must hold finite counts >= 0, got {matrix.data[bad]} in document {row}, "
                f"term {self.terms[int(matrix.indices[bad])]!r}"
            )
        if self.documents is not None and len(self.documents) != matrix.shape[0]:
            raise ValueError(f"documents must be {matrix.shape[0]} ids, got {len(self.documents)}")
        for name in ("data", "indices", "indptr"):
            setattr(matrix, name, read_only(getattr(matrix, name)))
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "labels", check_labels(self.labels, self.label_names, matrix.shape[0]))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __repr__(self) -> str:
        return f"Counts({len(self):,} documents × {len(self.terms):,} terms, {self.matrix.nnz:,} nonzeros)"

    def __getitem__(self, rows: Rows) -> Counts:
        """Return a subset of the documents, with the same terms."""
        chosen = row_numbers(rows, len(self))
        return Counts(
            matrix=self.matrix[chosen],
            terms=self.terms,
            documents=None if self.documents is None else self.documents.take(chosen),
            labels=None if self.labels is None else self.labels[chosen],
            label_names=self.label_names,
        )

    def aligned_to(self, terms: Vocabulary) -> Counts:
        """Return the same documents over other terms, matched by name; terms that are not among them are left out.

        >>> from scipy.sparse import csr_array
        >>> data = Counts(csr_array([[2, 1]]), Vocabulary(["ham", "eggs"]))
        >>> data.aligned_to(Vocabulary(["eggs", "tea"])).matrix.toarray().tolist()
        [[1.0, 0.0]]
        """
        if self.terms == terms:
            return self
        place = terms.find(self.terms.ids)
        known = self.matrix[:, place >= 0]
        matrix = sparse.csr_array(
            (known.data, place[place >= 0][known.indices], known.indptr), shape=(len(self), len(terms))
        )
        matrix.sort_indices()
        return replace(self, matrix=matrix, terms=terms)

    def describe(self) -> dict[str, Any]:
        """Return the numbers a person wants to see first."""
        lengths = self.matrix.sum(axis=1)
        return {
            "documents": len(self),
            "terms": len(self.terms),
            "nonzeros": int(self.matrix.nnz),
            "tokens": int(lengths.sum()),
            "median_length": float(np.median(lengths)) if len(self) else 0.0,
            "empty_documents": int(np.count_nonzero(lengths == 0)),
            "classes": 0 if self.label_names is None else len(self.label_names),
        }

    def _first_rows(self) -> list[dict[str, Any]]:
        rows = []
        for number in range(min(NUM_ROWS, len(self))):
            document = self.matrix[[number]]
            most = np.argsort(-document.data, kind="stable")[: NUM_PARTS + 1]
            words = [f"{self.terms[document.indices[place]]} {document.data[place]:g}" for place in most]
            name = number if self.documents is None else self.documents[number]
            rows.append({"document": name, "most frequent terms": join_first(words)})
        return rows

    def fingerprint(self) -> str:
        """Return a SHA-256 of terms, counts and labels."""
        return fingerprint(
            self.terms,
            self.matrix.indptr,
            self.matrix.indices,
            self.matrix.data,
            self.labels,
            self.label_names,
        )
