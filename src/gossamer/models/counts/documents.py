"""From what a caller has (Counts, a sparse matrix, an array, a table) to checked counts over a model's terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary


def read_training(estimator: BaseEstimator, data: Any) -> tuple[sparse.csr_array, Vocabulary]:
    """Return the counts a model is to be fitted on, and its terms; sets scikit-learn's `n_features_in_`.

    Columns of a table are terms by their names, those of a matrix by their numbers.
    """
    given = data.matrix if isinstance(data, Counts) else _check_matrix_like("data", data)
    matrix = check_counts("data", _validated(estimator, given, reset=True))
    if matrix.nnz == 0:
        raise ValueError(f"data must have at least one count above 0, got {matrix.shape[0]} empty documents")
    if isinstance(data, Counts):
        return matrix, data.terms
    names = getattr(estimator, "feature_names_in_", None)
    return matrix, Vocabulary.numbered(matrix.shape[1]) if names is None else Vocabulary(names.tolist())


def read_documents(estimator: BaseEstimator, data: Any, terms: Vocabulary, name: str = "data") -> sparse.csr_array:
    """Return counts over the terms of a fitted model.

    Counts are matched by the names of their terms, of which the model must know every one that occurs; a matrix must
    have the columns it had at `fit`. Of Interactions, unknown items are left out, as recommenders do.
    """
    if isinstance(data, Counts):
        return check_counts(name, data.matrix if data.terms == terms else _over_terms(name, data, terms))
    if isinstance(data, Interactions):
        return check_counts(name, data.aligned_to(terms).matrix())
    return check_counts(name, _validated(estimator, _check_matrix_like(name, data), reset=False))


def check_counts(name: str, matrix: Any) -> sparse.csr_array:
    """Return CSR float32 counts, each nonzero once and in order, or say where something is that is no count."""
    counts = sparse.csr_array(matrix)
    if not counts.has_canonical_format or (counts.data == 0).any():
        counts = counts.copy()
        counts.sum_duplicates()
        counts.eliminate_zeros()
    for wanted, is_bad in (
        ("finite counts, neither NaN nor inf", ~np.isfinite(counts.data)),
        ("counts >= 0", counts.data < 0),
        ("whole numbers", counts.data != np.rint(counts.data)),
    ):
        if is_bad.any():
            first = int(np.argmax(is_bad))
            row = int(np.searchsorted(counts.indptr, first, side="right")) - 1
            raise ValueError(
                f"{name} must hold {wanted}, got {counts.data[first]} in row {row}, column {counts.indices[first]}"
                # scikit-learn's own words, which its checks look for
                + (". Negative values in data are not counts" if wanted == "counts >= 0" else "")
            )
    return counts.astype(np.float32, copy=False)


def _check_matrix_like(name: str, data: Any) -> Any:
    """Refuse what numpy would only make an array of one object of."""
    if not (sparse.issparse(data) or isinstance(data, list | tuple) or hasattr(data, "__array__")):
        raise ValueError(
            f"{name} must be Counts, got {type(data).__name__}; "
            "a sparse matrix, an array or a table of counts will do, too"
        )
    return data


def _validated(estimator: BaseEstimator, data: Any, *, reset: bool) -> Any:
    # Finite or not is for check_counts to say: it knows the place.
    dtypes = [np.float32, np.float64]
    return validate_data(estimator, data, accept_sparse="csr", dtype=dtypes, ensure_all_finite=False, reset=reset)


def _over_terms(name: str, data: Counts, terms: Vocabulary) -> sparse.csr_array:
    place = terms.find(data.terms.ids)
    occurs = np.bincount(data.matrix.indices, data.matrix.data, len(data.terms)) > 0
    unseen = np.flatnonzero(occurs & (place < 0))
    if len(unseen):
        listed = ", ".join(repr(data.terms[int(term)]) for term in unseen[:3])
        raise ValueError(
            f"{name} must have terms of the training data, got {len(unseen)} that were not there: {listed}"
            + (" …" if len(unseen) > 3 else "")
        )
    source = data.matrix
    columns = np.maximum(place, 0)[source.indices]  # an unseen term has zeros only, which fall away
    return sparse.csr_array((source.data, columns, source.indptr), shape=(len(data), len(terms)))
