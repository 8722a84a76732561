"""k-means in NumPy, in the three steps that codebooks and anchors are made of."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.models.embeddings.table import ROWS_AT_ONCE


def kmeans(
    rows: Float[np.ndarray, "V D"], num_centres: int, *, sweeps: int = 20, random_state: RandomState = 0
) -> Float[np.ndarray, "K D"]:
    """Return centres after so many sweeps of k-means, from a k-means++ start."""
    centres = far_apart(rows, num_centres, numpy_generator(random_state))
    for _ in range(sweeps):
        centres = member_means(rows, nearest_centres(rows, centres), centres)
    return centres


def far_apart(rows: Float[np.ndarray, "V D"], count: int, generator: np.random.Generator) -> Float[np.ndarray, "K D"]:
    """Return `count` rows chosen by k-means++, padded with zeros where there are too few."""
    from sklearn.cluster import kmeans_plusplus  # half a second that only this start is worth

    seed = int(generator.integers(2**31))
    chosen, _ = kmeans_plusplus(rows, min(count, len(rows)), random_state=seed)
    return np.pad(chosen, ((0, count - len(chosen)), (0, 0)))


def nearest_centres(rows: Float[np.ndarray, "V D"], centres: Float[np.ndarray, "K D"]) -> Int[np.ndarray, " V"]:
    """Return which centre each row is nearest to."""
    lengths = np.square(centres).sum(axis=1)
    blocks = [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]
    return np.concatenate([np.argmin(lengths - 2 * block @ centres.T, axis=1) for block in blocks])


def member_means(
    rows: Float[np.ndarray, "V D"], labels: Int[np.ndarray, " V"], centres: Float[np.ndarray, "K D"]
) -> Float[np.ndarray, "K D"]:
    """Return the mean of each label's rows; a centre without rows stays where it is."""
    everyone = np.ones(len(rows), dtype=rows.dtype)
    members = csr_array((everyone, (labels, np.arange(len(rows)))), shape=(len(centres), len(rows)))
    counts = np.bincount(labels, minlength=len(centres))[:, np.newaxis].astype(rows.dtype)
    return np.where(counts > 0, members @ rows / np.maximum(counts, 1), centres)
