"""First guesses of the states: clusters of the observations, by k-means from random centres."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64, Int64
from sklearn.exceptions import ConvergenceWarning

from gossamer.models.markov.together import add_up

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

LARGEST_SAMPLE = 20_000  # of steps that k-means learns from
ITERATIONS = 50


def cluster_labels(
    features: Float64[np.ndarray, "N F"],
    is_missing: np.ndarray,
    num_states: int,
    generator: np.random.Generator,
    sharing: Sharing | None = None,
) -> Int64[np.ndarray, " N"]:
    """Return a cluster for every step; a step without observation takes the one before it.

    Where processes have divided the steps, each puts its part into one sample for all.
    """
    from sklearn.cluster import KMeans  # half a second that only a start is worth

    seen = np.flatnonzero(~is_missing)
    if sharing is None or not sharing.is_divided:
        sample = features[
            seen if len(seen) <= LARGEST_SAMPLE else generator.choice(seen, LARGEST_SAMPLE, replace=False)
        ]
        seed = int(generator.integers(2**31))
    else:
        seed = int(generator.integers(2**31))  # before what this process draws for itself: it is common to all
        sample = _sample_together(features, seen, seed, sharing)
    kmeans = KMeans(num_states, n_init=1, max_iter=ITERATIONS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than states: EM goes on from there
        kmeans.fit(sample)
    labels = np.zeros(len(features), dtype=np.int64)
    labels[seen] = kmeans.predict(features[seen])
    latest = np.maximum.accumulate(np.where(is_missing, 0, np.arange(len(labels))))
    return np.asarray(labels[latest])


def _sample_together(
    features: Float64[np.ndarray, "N F"], seen: Int64[np.ndarray, " M"], seed: int, sharing: Sharing
) -> Float64[np.ndarray, "S F"]:
    """Return steps of all processes, of each as many as its share is, `LARGEST_SAMPLE` in all at most."""
    total = int(add_up(np.array([len(seen)]), sharing)[0])
    if total > LARGEST_SAMPLE:
        own = max(1, LARGEST_SAMPLE * len(seen) // total)
        seen = np.random.default_rng(seed).choice(seen, own, replace=False)
    return sharing.gather(features[seen])


def mean_run(
    labels: Int64[np.ndarray, " N"], offsets: Int64[np.ndarray, " B+1"], sharing: Sharing | None = None
) -> float:
    """Return how many steps in a row have the same label, on average.

    >>> mean_run(np.array([0, 0, 1, 1, 1, 1]), np.array([0, 2, 6]))
    3.0
    """
    begins = np.ones(len(labels), dtype=bool)
    begins[1:] = labels[1:] != labels[:-1]
    begins[offsets[:-1][np.diff(offsets) > 0]] = True
    num_steps, num_runs = add_up(np.array([len(labels), begins.sum()]), sharing).tolist()
    return float(num_steps / max(1, num_runs))
