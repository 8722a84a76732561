"""Groups of users in the graph itself: its leading directions, and who lies near whom in them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32
from scipy import sparse
from scipy.special import softmax
from sklearn.utils.extmath import randomized_svd

from gossamer.core.randomness import derive_seed
from gossamer.models.community.graph import Edges
from gossamer.models.community.starts import MOST_FOR_START, spherical_kmeans, unit_rows

RESTARTS = 20  # points of few dimensions are clustered quickly, and what is wrong here stays wrong


def graph_spectrum(
    edges: Edges, indices: np.ndarray, num_items: int, count: int, seed: int
) -> tuple[Float[np.ndarray, "N K"], Float[np.ndarray, " K"]]:
    """Return users' singular vectors and the singular values, largest first, of (D_u + d̄)^−½ X (D_i + d̄)^−½.

    X has an edge from the users of `edges` to the items `indices`. Adding the mean degree d̄ keeps nodes with few edges
    from being communities of their own.

    Reference: Amini et al., "Pseudo-likelihood methods for community detection in large sparse networks", 2013.
    """
    num_users = len(edges.indptr) - 1
    ones = np.ones(len(indices), dtype=np.float64)
    matrix = sparse.csr_array((ones, indices.copy(), edges.indptr.copy()), shape=(num_users, num_items))
    matrix.sum_duplicates()
    users, items = np.asarray(matrix.sum(axis=1)).ravel(), np.asarray(matrix.sum(axis=0)).ravel()
    scaled = sparse.diags_array(1 / np.sqrt(users + users.mean())) @ matrix
    scaled = scaled @ sparse.diags_array(1 / np.sqrt(items + items.mean()))
    vectors, values, _ = randomized_svd(
        scaled, count, n_oversamples=10, n_iter=5, random_state=derive_seed(seed) % 2**32
    )
    return vectors, values


def spectral_groups(
    user_items: Edges, num_items: int, *, count: int, temperature: float, seed: int
) -> Float32[np.ndarray, "N K"]:
    """Return how much each user is of each of `count` groups: the softmax of cosines to centres over a temperature.

    The rows of U diag(σ) are what the `count` leading directions say of users; the centres are those of spherical
    k-means. A user without items is of all groups alike.
    """
    rank = min(count, len(user_items.indptr) - 1, num_items)
    vectors, values = graph_spectrum(user_items, user_items.indices, num_items, rank, seed)
    points = unit_rows(vectors * values)
    generator = np.random.default_rng(derive_seed(seed, "groups"))
    rows = np.flatnonzero(user_items.degrees > 0)
    if len(rows) > MOST_FOR_START:
        rows = np.sort(generator.choice(rows, MOST_FOR_START, replace=False))
    centres, _ = spherical_kmeans(points[rows], count, generator, restarts=RESTARTS)
    groups: np.ndarray = softmax(points @ centres.T / temperature, axis=1).astype(np.float32)
    return groups
