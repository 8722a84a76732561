"""Where communities begin: at the centres of users, who are grouped already or are alike after a first epoch."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int64

ITERATIONS, RESTARTS = 25, 4
JITTER = 0.01
MOST_FOR_START = 20_000  # users that are clustered


def unit_rows(points: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """Return rows of length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    scaled: np.ndarray = points / np.where(lengths > 1e-12, lengths, 1.0)
    return scaled


def spherical_kmeans(
    points: Float[np.ndarray, "N D"], count: int, generator: np.random.Generator, *, restarts: int = RESTARTS
) -> tuple[Float[np.ndarray, "K D"], Int64[np.ndarray, " N"]]:
    """Return unit centres and the nearest of them for every unit point, the best of `restarts`.

    Centres start far from each other (k-means++); one that loses all its points moves to the point that fits worst.
    Reference: Dhillon and Modha, "Concept decompositions for large sparse text data", 2001.
    """
    if len(points) < count:
        raise ValueError(f"num_communities must be at most the number of users, {len(points)}, got {count}")
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    for _ in range(restarts):
        centres = _spread_centres(points, count, generator)
        nearest = np.zeros(len(points), dtype=np.int64)
        for iteration in range(ITERATIONS):
            closeness = points @ centres.T
            found = closeness.argmax(axis=1)
            if iteration and (found == nearest).all():
                break
            nearest = found
            centres = _move(points, nearest, closeness.max(axis=1), centres)
        fit = float((points @ centres.T).max(axis=1).mean())
        if best is None or fit > best[0] + 1e-9:
            best = (fit, centres, nearest)
    assert best is not None
    return best[1], best[2]


def _spread_centres(points: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    chosen = [int(generator.integers(len(points)))]
    far = np.maximum(1 - points @ points[chosen[0]], 0)
    while len(chosen) < count:
        total = far.sum()
        share = None if total <= 1e-12 else far / total
        chosen.append(int(generator.choice(len(points), p=share)))
        far = np.minimum(far, np.maximum(1 - points @ points[chosen[-1]], 0))
    return points[chosen].astype(np.float64)


def _move(points: np.ndarray, nearest: np.ndarray, fits: np.ndarray, centres: np.ndarray) -> np.ndarray:
    sums = np.zeros_like(centres)
    np.add.at(sums, nearest, points)
    lengths = np.linalg.norm(sums, axis=1)
    worst = iter(np.argsort(fits, kind="stable"))
    for centre in np.flatnonzero(lengths < 1e-9):
        sums[centre] = points[next(worst)]
        lengths[centre] = max(float(np.linalg.norm(sums[centre])), 1e-9)
    moved: np.ndarray = sums / lengths[:, None]
    return moved


def community_start(
    full: Float[np.ndarray, "N D"], count: int, generator: np.random.Generator
) -> Float[np.ndarray, "K D"]:
    """Return community embeddings at the centres of users who are alike."""
    centres, _ = spherical_kmeans(full.astype(np.float64), count, generator)
    return _apart(centres, generator)


def group_start(
    full: Float[np.ndarray, "N D"], groups: Float[np.ndarray, "N K"], generator: np.random.Generator
) -> Float[np.ndarray, "K D"]:
    """Return community embeddings at the centres of groups that users belong to more or less."""
    return _apart(unit_rows(groups.T.astype(np.float64) @ full), generator)


def _apart(centres: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Move centres a little apart, so that they always span K dimensions."""
    apart = centres + JITTER * generator.normal(size=centres.shape) / np.sqrt(centres.shape[1])
    start: np.ndarray = unit_rows(apart).astype(np.float32)
    return start
