"""Perplexity, in the two conventions that papers mix: the mean over documents and the mean over tokens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Integer


def perplexity_per_document(
    log_probs: Float[np.ndarray, " N"], num_tokens: Integer[np.ndarray, " N"] | Float[np.ndarray, " N"]
) -> float:
    """Return exp(1/N Σ_d −log p(x_d) / N_d): every document counts the same, as in the NFA and NVDM papers.

    `log_probs` holds the log probability of each document, or a bound on it, `num_tokens` its length N_d > 0.

    >>> round(perplexity_per_document(np.log([0.5, 0.25]), np.array([1, 2])), 6)
    2.0
    """
    _check_documents(log_probs, num_tokens)
    with np.errstate(over="ignore", invalid="ignore"):  # too large for a float is infinite
        return float(np.exp(np.mean(-log_probs.astype(np.float64) / num_tokens)))


def perplexity_per_token(
    log_probs: Float[np.ndarray, " N"], num_tokens: Integer[np.ndarray, " N"] | Float[np.ndarray, " N"]
) -> float:
    """Return exp(−Σ_d log p(x_d) / Σ_d N_d): every token counts the same, as in gensim and tomotopy."""
    _check_documents(log_probs, num_tokens)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.exp(-log_probs.sum(dtype=np.float64) / num_tokens.sum(dtype=np.float64)))


def _check_documents(log_probs: np.ndarray, num_tokens: np.ndarray) -> None:
    if log_probs.ndim != 1 or log_probs.shape != num_tokens.shape or len(log_probs) == 0:
        raise ValueError(
            "log_probs must be one-dimensional, not empty and as long as num_tokens, "
            f"got {log_probs.shape} and {num_tokens.shape}"
        )
    # −inf is a model's honest answer for a document it holds impossible; its perplexity is infinite.
    unusable = np.isnan(log_probs) | (log_probs == np.inf)
    if unusable.any():
        raise ValueError(f"log_probs must be finite or -inf, got {log_probs[unusable][0]}")
    unusable = ~np.isfinite(num_tokens) | ~(num_tokens > 0)
    if unusable.any():
        raise ValueError(f"num_tokens must be > 0 (leave empty documents out), got {num_tokens[unusable][0]}")
