"""Documents that a model has not seen, over the terms that it knows."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from gossamer.data.counts import Counts
from gossamer.data.readers.counted_documents import has_nameless_columns, is_matrix
from gossamer.data.vocabulary import Vocabulary
from gossamer.runner.source import is_file

logger = logging.getLogger(__name__)


def terms_of(estimator: Any) -> Vocabulary | None:
    """Return the terms of a fitted model of counts; None for any other model."""
    terms = getattr(estimator, "terms_", None)
    return terms if isinstance(terms, Vocabulary) else None


def over_terms(data: Any, terms: Vocabulary | None, name: str) -> Any:
    """Return Counts over a model's terms, anything else, or for a model without terms, as it is.

    The columns of a matrix are the model's by their place. Other terms are matched by name, and those that the model
    does not know are left out, with a warning: new texts always have new words.
    """
    if terms is None or not isinstance(data, Counts) or data.terms == terms:
        return data
    if is_file(name) and has_nameless_columns(name):
        return _by_place(data, terms, name)
    aligned = data.aligned_to(terms)
    before, after = float(data.matrix.sum()), float(aligned.matrix.sum())
    if after == 0 and before > 0:
        raise ValueError(f"{name} must have some of the {len(terms):,} terms that the model knows, got none of them")
    if after < before:
        unknown = np.count_nonzero((data.matrix.sum(axis=0) > 0) & (terms.find(data.terms.ids) < 0))
        logger.warning(
            "%s has %s of %s terms, %.1f %% of all it counts, that the model does not know: they are left out",
            name,
            f"{unknown:,}",
            f"{len(data.terms):,}",
            100 * (1 - after / before),
        )
    return aligned


def _by_place(data: Counts, terms: Vocabulary, name: str) -> Counts:
    num_columns = len(data.terms)
    if num_columns > len(terms) or (is_matrix(name) and num_columns < len(terms)):  # svmlight leaves zeros out
        raise ValueError(f"{name} must have the {len(terms):,} columns of the training data, got {num_columns:,}")
    matrix = sparse.csr_array(
        (data.matrix.data, data.matrix.indices, data.matrix.indptr), shape=(len(data), len(terms))
    )
    return replace(data, matrix=matrix, terms=terms)
