"""Held-out likelihood of topic models, from their topics alone: one estimator for whatever library learned them."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse
from scipy.special import digamma, gammaln

from gossamer.core.checks import check_int, check_real

NUMBERS_AT_ONCE = 4_000_000  # of the products (nonzeros × topics) of a block


def lda_bounds(
    counts: Any,
    topics: Float[np.ndarray, "K V"],
    prior: Float[np.ndarray, " K"],
    *,
    max_iterations: int = 200,
    tolerance: float = 1e-3,
) -> Float[np.ndarray, " D"]:
    """Return the variational bound on log p(x_d) of each document under LDA with given topics (Blei et al. 2003).

    With q(θ) = Dirichlet(γ), and the words' topics at their best given γ,
    Σ_v x_v log Σ_k exp(E log θ_k) β_kv + log Γ(Σα) − log Γ(Σγ) + Σ_k (log Γ(γ_k) − log Γ(α_k) + (α_k − γ_k) E log θ_k).
    γ is iterated until it moves by less than `tolerance` on average over topics, so that no library's own habit of
    stopping early decides. Orders of words are not counted, as in all perplexities here. Documents are sparse rows.

    >>> one_topic = np.array([[0.5, 0.5]])
    >>> lda_bounds(sparse.csr_array([[2, 1]]), one_topic, np.array([1.0])).round(6).tolist()
    [-2.079442]
    """
    check_int("max_iterations", max_iterations, at_least=1)
    check_real("tolerance", tolerance, above=0)
    matrix = sparse.csr_array(counts, dtype=np.float64)
    _check_model(matrix, topics, prior)
    by_term = np.ascontiguousarray(topics.T)
    found = [np.zeros(0)]
    begin = 0
    while begin < matrix.shape[0]:
        # As many rows as fit: their nonzeros times K numbers, at least one row.
        limit = matrix.indptr[begin] + NUMBERS_AT_ONCE // len(prior)
        end = max(begin + 1, int(np.searchsorted(matrix.indptr, limit, side="right")) - 1)
        found.append(_bounds_of_block(matrix[begin:end], by_term, prior, max_iterations, tolerance))
        begin = end
    return np.concatenate(found)


def _bounds_of_block(
    block: sparse.csr_array, by_term: np.ndarray, prior: np.ndarray, max_iterations: int, tolerance: float
) -> np.ndarray:
    lengths = np.diff(block.indptr)
    rows = np.repeat(np.arange(block.shape[0]), lengths)
    term_probs = by_term[block.indices]  # (nonzeros, K)
    gamma = prior + block.sum(axis=1)[:, None] / len(prior)
    for _ in range(max_iterations):
        weights = _scaled_weights(_expected_log(gamma))[0]  # the scale cancels below
        ratios = _mixed(weights, rows, term_probs)
        np.divide(block.data, ratios, out=ratios, where=ratios > 0)
        responsible = sparse.csr_array((ratios, block.indices, block.indptr), shape=block.shape) @ by_term
        moved = prior + weights * responsible
        change = np.abs(moved - gamma).mean(axis=1).max(initial=0.0)
        gamma = moved
        if change < tolerance:
            break
    expected = _expected_log(gamma)
    weights, log_scale = _scaled_weights(expected)
    log_mixed = np.zeros(len(rows))  # stays 0 where a stored count is 0
    with np.errstate(divide="ignore"):  # a word that no topic has is impossible
        np.log(_mixed(weights, rows, term_probs), out=log_mixed, where=block.data > 0)
    likelihood = np.bincount(rows, block.data * (log_mixed + log_scale[rows]), block.shape[0])
    dirichlet = gammaln(prior.sum()) - gammaln(gamma.sum(axis=1))
    dirichlet += (gammaln(gamma) - gammaln(prior) + (prior - gamma) * expected).sum(axis=1)
    bounds: np.ndarray = likelihood + dirichlet
    return bounds


def _expected_log(gamma: np.ndarray) -> np.ndarray:
    expected: np.ndarray = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    return expected


def _scaled_weights(expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return exp(E log θ) over its largest value per row, and that value's logarithm.

    With many topics and few words all of them would be 0 in floating point, and every word impossible.
    """
    log_scale = expected.max(axis=1)
    weights: np.ndarray = np.exp(expected - log_scale[:, None])
    return weights, log_scale


def _mixed(weights: np.ndarray, rows: np.ndarray, term_probs: np.ndarray) -> np.ndarray:
    mixed: np.ndarray = np.einsum("nk,nk->n", weights[rows], term_probs)
    return mixed


def _check_model(matrix: sparse.csr_array, topics: np.ndarray, prior: np.ndarray) -> None:
    if matrix.shape[1] != topics.shape[1]:
        raise ValueError(f"topics must have a column per term ({matrix.shape[1]}), got {topics.shape[1]}")
    if len(prior) != len(topics) or not (np.isfinite(prior) & (prior > 0)).all():
        raise ValueError(f"prior must be {len(topics)} finite numbers > 0, got {prior}")
    sums = topics.sum(axis=1)
    if not (topics >= 0).all() or not np.allclose(sums, 1, atol=1e-4):
        raise ValueError(f"topics must be >= 0 and sum to 1, got sums from {sums.min()} to {sums.max()}")
    if matrix.nnz and not (np.isfinite(matrix.data) & (matrix.data >= 0)).all():
        raise ValueError("counts must be finite and >= 0, got others")
