"""New documents: how long they are, and which words they draw."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy import sparse

NUM_QUANTILES = 101


def length_quantiles(matrix: sparse.csr_array) -> Float32[np.ndarray, " 101"]:
    """Return the percentiles, 0 … 100, of the lengths of documents that have words."""
    lengths = np.asarray(matrix.sum(axis=1))
    quantiles: np.ndarray = np.quantile(lengths[lengths > 0], np.linspace(0, 1, NUM_QUANTILES)).astype(np.float32)
    return quantiles


def draw_lengths(
    quantiles: Float32[np.ndarray, " 101"], n: int, generator: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """Draw n lengths, each at least 1, from the distribution whose percentiles are given."""
    places = np.linspace(0, 1, len(quantiles))
    drawn = np.rint(np.interp(generator.random(n), places, quantiles))
    lengths: np.ndarray = np.maximum(drawn, 1).astype(np.int64)
    return lengths


def draw_words(
    blocks: Iterable[Float[np.ndarray, "B V"]], lengths: Int[np.ndarray, " n"], generator: np.random.Generator
) -> sparse.csr_array:
    """Draw `lengths[d]` words for document d from its row of probabilities, which come a block of rows at a time."""
    drawn, begin = [], 0
    for block in blocks:
        probs = block.astype(np.float64)
        probs /= probs.sum(axis=1, keepdims=True)  # `multinomial` insists
        words = generator.multinomial(lengths[begin : begin + len(probs)], probs)
        drawn.append(sparse.csr_array(words.astype(np.float32)))
        begin += len(probs)
    return sparse.vstack(drawn, format="csr")
