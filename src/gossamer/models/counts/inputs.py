"""What the encoder sees of a count: the count itself, its share of the document, or tf-idf (section 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from jaxtyping import Float32
from scipy import sparse

from gossamer.core.checks import check_choice, check_real
from gossamer.persistence import check_array

KINDS = ("tfidf", "norm", "counts", "l2")
ROWS_AT_ONCE = 1 << 14


class InputFeatures:
    """Features with the sparsity of the counts: "tfidf", "norm" (x/N), "counts" (x) or "l2" (x/‖x‖), times `scale`.

    tf-idf is x · idf, each document divided by its Euclidean length, with the smoothed inverse document frequency
    ln((1 + D)/(1 + d_v)) + 1 of scikit-learn's `TfidfTransformer`, which the paper used.

    >>> features = InputFeatures("norm").fit(sparse.csr_array([[3, 1]]))
    >>> features.values(sparse.csr_array([[3, 1]])).tolist()
    [0.75, 0.25]
    """

    def __init__(self, kind: str = "tfidf", scale: float = 1.0) -> None:
        self.kind = check_choice("kind", kind, KINDS)
        self.scale = check_real("scale", scale, above=0)
        self.idf: Float32[np.ndarray, " V"] | None = None

    def fit(
        self, matrix: sparse.csr_array, sum_up: Callable[[np.ndarray], np.ndarray] = lambda mine: mine
    ) -> InputFeatures:
        """Learn the inverse document frequencies, where the kind has them; `sum_up` adds other processes' counts."""
        if self.kind == "tfidf":
            frequency = np.zeros(matrix.shape[1], dtype=np.int64)
            for _, nonzeros in _blocks(matrix):
                occurring = matrix.indices[nonzeros][matrix.data[nonzeros] != 0]
                frequency += np.bincount(occurring, minlength=matrix.shape[1])
            frequency, num_rows = sum_up(frequency), sum_up(np.array([matrix.shape[0]]))
            self.idf = (np.log((1 + num_rows) / (1 + frequency)) + 1).astype(np.float32)
        return self

    def values(self, matrix: sparse.csr_array) -> Float32[np.ndarray, " nnz"]:
        """Return the feature of every stored count of `matrix`, in its order."""
        if self.kind == "tfidf" and self.idf is None:
            raise RuntimeError("fit(matrix) must be called before values(matrix)")
        if self.idf is not None and matrix.shape[1] != len(self.idf):
            raise ValueError(f"matrix must have {len(self.idf)} columns as at fit, got {matrix.shape[1]}")
        values: np.ndarray = matrix.data.astype(np.float32)
        for rows, nonzeros in _blocks(matrix):
            block = values[nonzeros]  # a view
            if self.idf is not None:
                block *= self.idf[matrix.indices[nonzeros]]
            if self.kind != "counts":
                block /= self._row_lengths(block, np.diff(matrix.indptr[rows.start : rows.stop + 1]))
            block *= np.float32(self.scale)
        return values

    def _row_lengths(self, values: Float32[np.ndarray, " n"], sizes: np.ndarray) -> Float32[np.ndarray, " n"]:
        """Return, for every nonzero, the sum or the Euclidean length of its row, 1 where that is 0."""
        row_of_nonzero = np.repeat(np.arange(len(sizes)), sizes)
        summed = values if self.kind == "norm" else np.square(values, dtype=np.float64)
        lengths = np.bincount(row_of_nonzero, weights=summed, minlength=len(sizes))
        if self.kind != "norm":
            lengths = np.sqrt(lengths)
        return np.where(lengths > 0, lengths, 1).astype(np.float32)[row_of_nonzero]

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return what `restore` needs beside kind and scale."""
        return {} if self.idf is None else {"idf": self.idf}

    def restore(self, arrays: Mapping[str, np.ndarray], num_terms: int | None = None) -> InputFeatures:
        """Take up the arrays that `learned_arrays` gave, for `num_terms` terms (None: any number)."""
        if self.kind == "tfidf":
            self.idf = check_array(arrays, "idf", np.float32, (num_terms,))
        return self


def _blocks(matrix: sparse.csr_array) -> Iterator[tuple[slice, slice]]:
    """Yield rows and their nonzeros: temporaries do not grow with the number of documents."""
    for begin in range(0, matrix.shape[0], ROWS_AT_ONCE):
        rows = slice(begin, min(begin + ROWS_AT_ONCE, matrix.shape[0]))
        yield rows, slice(int(matrix.indptr[rows.start]), int(matrix.indptr[rows.stop]))
