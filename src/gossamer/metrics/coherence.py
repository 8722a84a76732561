"""Whether the top terms of a topic belong together (NPMI), and whether topics repeat each other (diversity)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Integer
from scipy import sparse


def npmi(topics: Integer[np.ndarray, "K n"], reference: sparse.csr_array) -> Float64[np.ndarray, " K"]:
    """Return per topic the mean of log(p(i, j) / p(i) p(j)) / −log p(i, j) over the pairs of its terms.

    `topics` (K, n) are columns of `reference`, the n ≥ 2 top terms of each topic. A probability is the share of the
    reference's documents that hold a term, or both; how often does not matter. 1 is for terms that only come together,
    0 for independent ones. Where the formula has no value: a pair that never comes together, even because a term is
    absent, gets the limit −1, and a pair that is in every document 0, because it says nothing. Libraries that look at
    windows of words instead of documents, or add a count to avoid zeros, give other numbers.

    Only the columns asked for are looked at; the co-occurrences of one topic are n × n. References: Bouma, 2009;
    Lau, Newman and Baldwin, 2014.

    >>> documents = sparse.csr_array([[1, 2, 0], [3, 1, 0], [0, 0, 1], [0, 0, 1]])
    >>> npmi(np.array([[0, 1], [1, 2]]), documents)
    array([ 1., -1.])
    """
    _check_topics(topics, at_least=2)
    _check_reference(topics, reference)
    used, places = np.unique(topics, return_inverse=True)
    presence, num_documents = _presence(reference, used), reference.shape[0]
    values = np.empty(len(topics))
    for topic, columns in enumerate(places.reshape(topics.shape)):
        chosen = presence[:, columns]
        values[topic] = _mean_npmi((chosen.T @ chosen).toarray() / num_documents)
    return values


def topic_diversity(topics: Integer[np.ndarray, "K n"]) -> float:
    """Return the share of distinct terms among the top terms of all topics: 1 where no two share any, 1/K at worst.

    Coherence alone is best served by saying one good topic K times. Reference: Dieng, Ruiz and Blei, 2020.

    >>> topic_diversity(np.array([[0, 1], [1, 2]]))
    0.75
    """
    _check_topics(topics, at_least=1)
    return len(np.unique(topics)) / topics.size


def _presence(reference: sparse.csr_array, columns: np.ndarray) -> sparse.csc_array:
    """Return 1 where a document holds one of the terms in `columns`, by columns."""
    presence = sparse.csc_array(reference[:, columns], dtype=np.float64)
    presence.sum_duplicates()
    presence.eliminate_zeros()
    presence.data[:] = 1  # a float64 counts exactly, and no small integer type overflows
    return presence


def _mean_npmi(shares: np.ndarray) -> float:
    """Return the mean over pairs from the share of documents that hold both terms, and on the diagonal each."""
    first, second = np.triu_indices(len(shares), 1)
    both, apart = shares[first, second], shares[first, first] * shares[second, second]
    values = np.where(both == 1, 0.0, -1.0)
    defined = (both > 0) & (both < 1)
    values[defined] = np.log(both[defined] / apart[defined]) / -np.log(both[defined])
    return float(np.clip(values, -1, 1).mean())  # rounding alone goes beyond


def _check_topics(topics: np.ndarray, at_least: int) -> None:
    if topics.ndim != 2 or len(topics) == 0 or topics.shape[1] < at_least or topics.dtype.kind not in "iu":
        wanted = f"integers of the shape (K, n), K >= 1 and n >= {at_least}"
        raise ValueError(f"topics must be {wanted}, got {topics.dtype} {topics.shape}")
    ordered = np.sort(topics, axis=1)
    repeated = ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]]
    if repeated.size:
        raise ValueError(f"topics must not repeat a term within a topic, got {repeated[0]} twice")


def _check_reference(topics: np.ndarray, reference: sparse.csr_array) -> None:
    num_documents, num_terms = reference.shape
    if num_documents == 0:
        raise ValueError("reference must have at least one document, got 0")
    outside = topics[(topics < 0) | (topics >= num_terms)]
    if outside.size:
        raise ValueError(f"topics must be columns 0 … {num_terms - 1} of the reference, got {outside[0]}")
    invalid = ~(np.isfinite(reference.data) & (reference.data >= 0))
    if invalid.any():
        raise ValueError(f"reference must hold finite counts >= 0, got {reference.data[invalid][0]}")
