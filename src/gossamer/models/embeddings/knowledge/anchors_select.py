"""ANCHOR (section 3.1, appendix D): which objects become anchors. Every function returns distinct object numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy import sparse
from torch import Tensor

from gossamer.core.checks import check_choice, check_int
from gossamer.core.randomness import RandomState, numpy_generator, torch_generator

Features: TypeAlias = np.ndarray | sparse.csr_array
STRATEGIES = ("random", "frequency", "tfidf", "clustering", "frequency-clustering", "coreset")
FREQUENT_SHARE = 0.5  # of the anchors of "frequency-clustering"; the paper gives no number


def select_anchors(
    strategy: str,
    num_anchors: int,
    *,
    counts: np.ndarray | None = None,
    features: Features | None = None,
    random_state: RandomState = 0,
) -> Int64[np.ndarray, " K"]:
    """Return the objects a strategy makes anchors; "random" has no objects and is `random_basis`.

    `counts` (V,) is an importance per object: how often it occurs for "frequency", its tf-idf score for "tfidf".
    `features` (V, F), dense or sparse, is any space where like objects are near: GloVe, `ppmi_features`, counts.
    """
    check_choice("strategy", strategy, STRATEGIES[1:])
    if strategy in ("frequency", "tfidf"):
        return most_important(_needed("counts", counts, strategy), num_anchors)
    space = _needed("features", features, strategy)
    if strategy == "clustering":
        return spread_out(space, num_anchors, random_state=random_state)
    if strategy == "coreset":
        return lightweight_coreset(space, num_anchors, random_state=random_state)
    frequent = most_important(_needed("counts", counts, strategy), max(1, int(FREQUENT_SHARE * num_anchors)))
    return spread_out(space, num_anchors, chosen=frequent, random_state=random_state)


def most_important(counts: np.ndarray, num_anchors: int) -> Int64[np.ndarray, " K"]:
    """Return the objects with the largest counts (or tf-idf scores), largest first, equal ones by number.

    >>> most_important(np.array([3, 9, 9, 1]), 3).tolist()
    [1, 2, 0]
    """
    counts = np.asarray(counts)
    if counts.ndim != 1 or not np.isfinite(counts).all():
        raise ValueError(f"counts must be one finite number per object, got {counts.dtype} {counts.shape}")
    _check_number(num_anchors, len(counts))
    return np.argsort(-counts.astype(np.float64), kind="stable")[:num_anchors].astype(np.int64)


def spread_out(
    features: Features, num_anchors: int, *, chosen: Sequence[int] | np.ndarray = (), random_state: RandomState = 0
) -> Int64[np.ndarray, " K"]:
    """Return objects that span the feature space, by the seeding of k-means++ (Arthur and Vassilvitskii, 2007).

    The next object is drawn with probability proportional to the squared distance to the nearest one so far.
    `chosen` come first: the frequent ones of figure 2. Memory is V numbers beside the features. Where fewer than
    `num_anchors` objects differ, the rest are any objects not yet chosen.
    """
    num_objects = features.shape[0]
    _check_number(num_anchors, num_objects)
    generator = numpy_generator(random_state)
    ids = [int(item) for item in chosen]
    if len(ids) > num_anchors or len(set(ids)) < len(ids) or any(not 0 <= item < num_objects for item in ids):
        raise ValueError(f"chosen must be at most {num_anchors} different objects, got {ids[:5]}")
    squares = _squared_norms(features)
    if not ids:
        ids = [int(generator.integers(num_objects))]
    nearest = np.full(num_objects, np.inf)
    for item in ids:
        _approach(nearest, features, squares, item)
    while len(ids) < num_anchors:
        total = nearest.sum()
        if total > 0:
            # The clip is for a draw that rounding puts behind the last object.
            item = int(np.searchsorted(np.cumsum(nearest), generator.random() * total, side="right"))
            item = min(item, int(np.flatnonzero(nearest)[-1]))
        else:
            item = int(generator.choice(np.setdiff1d(np.arange(num_objects), ids)))
        ids.append(item)
        _approach(nearest, features, squares, item)
    return np.array(ids, dtype=np.int64)


def lightweight_coreset(
    features: Features, num_anchors: int, *, random_state: RandomState = 0
) -> Int64[np.ndarray, " K"]:
    """Return a lightweight coreset (Bachem, Lucic and Krause, 2018), drawn without replacement.

    Object x is drawn with probability 1/(2V) + d(x, mean)²/(2 Σ d²): half uniform, half by its share of the spread.
    """
    num_objects = features.shape[0]
    _check_number(num_anchors, num_objects)
    mean = np.asarray(features.mean(axis=0), dtype=np.float64).ravel()
    spread = np.maximum(_squared_norms(features) - 2 * np.asarray(features @ mean).ravel() + mean @ mean, 0.0)
    probs = np.full(num_objects, 1.0 / num_objects)
    if spread.sum() > 0:
        probs = (probs + spread / spread.sum()) / 2
    return numpy_generator(random_state).choice(num_objects, num_anchors, replace=False, p=probs).astype(np.int64)


def random_basis(num_anchors: int, embedding_dim: int, *, random_state: RandomState = 0) -> Float[Tensor, "K D"]:
    """Return K random unit vectors, orthonormal where K ≤ D; beyond that, one orthonormal set of D after another.

    >>> basis = random_basis(3, 8)
    >>> bool(torch.allclose(basis @ basis.T, torch.eye(3), atol=1e-6))
    True
    """
    check_int("num_anchors", num_anchors, at_least=1)
    check_int("embedding_dim", embedding_dim, at_least=1)
    generator = torch_generator(random_state)
    blocks = []
    for start in range(0, num_anchors, embedding_dim):
        gaussian = torch.randn(embedding_dim, min(embedding_dim, num_anchors - start), generator=generator)
        orthonormal, triangle = torch.linalg.qr(gaussian)
        # QR alone prefers some signs; with the diagonal's the basis is uniformly distributed.
        blocks.append((orthonormal * torch.sign(triangle.diagonal())).T)
    return torch.cat(blocks)


def _approach(nearest: np.ndarray, features: Features, squares: np.ndarray, item: int) -> None:
    """Lower `nearest` to the squared distance to `item` where that is nearer."""
    row = features[item] if isinstance(features, np.ndarray) else features[[item]].toarray().ravel()
    products = features @ row
    distances = squares - 2 * products.astype(np.float64) + squares[item]
    # Rounding of the three terms must not make a copy of an anchor look like something new.
    distances[distances < 1e-6 * (squares + squares[item])] = 0.0
    np.minimum(nearest, distances, out=nearest)
    nearest[item] = 0.0


def _squared_norms(features: Features) -> np.ndarray:
    norms: np.ndarray
    if isinstance(features, np.ndarray):
        norms = np.einsum("vf,vf->v", features, features, dtype=np.float64)
    else:
        norms = np.asarray(features.multiply(features).sum(axis=1), dtype=np.float64).ravel()
    if not np.isfinite(norms).all():
        row = int(np.flatnonzero(~np.isfinite(norms))[0])
        raise ValueError(f"features must be finite, got NaN or infinity in row {row}")
    return norms


def _check_number(num_anchors: int, num_objects: int) -> None:
    check_int("num_anchors", num_anchors, at_least=1)
    if num_anchors > num_objects:
        raise ValueError(f"num_anchors must be at most the {num_objects} objects, got {num_anchors}")


def _needed(name: str, value: Features | None, strategy: str) -> Features:
    if value is None:
        raise ValueError(f"{name} must be given for strategy {strategy!r}, got None")
    return value
