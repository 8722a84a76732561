"""Nearest codes by comparing everything with everything: what `SparseCodes` must return."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def brute_force(
    codes: np.ndarray, queries: np.ndarray, k: int, similarity: str
) -> tuple[list[list[int]], list[list[float]]]:
    """Return rows and similarities, compared as fractions: ties are ties, and go to the lower row."""
    rows, similarities = [], []
    for query in queries.astype(np.int64):
        pairs = _fractions(query, codes.astype(np.int64), similarity)
        distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
        exact = [Fraction(int(above), int(below)) for above, below in distinct]
        ranks = {value: rank for rank, value in enumerate(sorted(set(exact), reverse=True))}
        of_row = np.array([ranks[value] for value in exact])[inverse.reshape(-1)]
        best = np.argsort(of_row, kind="stable")[:k]
        rows.append(best.tolist())
        found = [float(exact[pair]) for pair in inverse.reshape(-1)[best]]
        similarities.append([value**0.5 if similarity == "cosine" else value for value in found])
    return rows, similarities


def _fractions(query: np.ndarray, codes: np.ndarray, similarity: str) -> np.ndarray:
    """Return numerators and denominators (N, 2) of the similarity of each code, of the cosine its square."""
    minima, maxima = np.minimum(query, codes).sum(axis=1), np.maximum(query, codes).sum(axis=1)
    one = np.ones_like(minima)
    if similarity == "shared":
        return np.stack([minima, one], axis=1)
    if similarity == "hamming":
        return np.stack([-np.abs(query - codes).sum(axis=1), one], axis=1)
    is_both_empty = maxima == 0
    if similarity == "jaccard":
        return np.stack([np.where(is_both_empty, 1, minima), np.maximum(maxima, 1)], axis=1)
    norms = (query * query).sum() * (codes * codes).sum(axis=1)
    return np.stack([np.where(is_both_empty, 1, (codes @ query) ** 2), np.maximum(norms, 1)], axis=1)
