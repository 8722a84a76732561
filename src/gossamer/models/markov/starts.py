"""First guesses of the states: clusters of the observations, by k-means from random centres."""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float64, Int64
from sklearn.exceptions import ConvergenceWarning

LARGEST_SAMPLE = 20_000  # of steps that k-means learns from
ITERATIONS = 50


def cluster_labels(
    features: Float64[np.ndarray, "N F"], is_missing: np.ndarray, num_states: int, generator: np.random.Generator
) -> Int64[np.ndarray, " N"]:
    """Return a cluster for every step; a step without observation takes the one before it."""
    from sklearn.cluster import KMeans  # half a second that only a start is worth

    seen = np.flatnonzero(~is_missing)
    sample = seen if len(seen) <= LARGEST_SAMPLE else generator.choice(seen, LARGEST_SAMPLE, replace=False)
    seed = int(generator.integers(2**31))
    kmeans = KMeans(num_states, n_init=1, max_iter=ITERATIONS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than states: EM goes on from there
        kmeans.fit(features[sample])
    labels = np.zeros(len(features), dtype=np.int64)
    labels[seen] = kmeans.predict(features[seen])
    latest = np.maximum.accumulate(np.where(is_missing, 0, np.arange(len(labels))))
    return np.asarray(labels[latest])


def mean_run(labels: Int64[np.ndarray, " N"], offsets: Int64[np.ndarray, " B+1"]) -> float:
    """Return how many steps in a row have the same label, on average.

    >>> mean_run(np.array([0, 0, 1, 1, 1, 1]), np.array([0, 2, 6]))
    3.0
    """
    begins = np.ones(len(labels), dtype=bool)
    begins[1:] = labels[1:] != labels[:-1]
    begins[offsets[:-1][np.diff(offsets) > 0]] = True
    return len(labels) / max(1, int(begins.sum()))
