"""How many communities? As many as the graph's spectrum has directions that a graph without communities has not."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from gossamer.core.checks import check_int
from gossamer.core.randomness import derive_seed
from gossamer.models.community.graph import Edges

NUM_NULLS = 3
MARGIN = 1.02  # the largest of a few shuffled graphs is a little below the largest of all of them


def choose_num_communities(user_items: Edges, num_items: int, *, most: int, seed: int) -> int:
    """Return how many singular values of the graph rise above those of graphs with the same degrees but no communities.

    The values are those of (D_u + d̄)^−½ X (D_i + d̄)^−½; adding the mean degree d̄ keeps nodes with few edges from being
    communities of their own (Amini et al. 2013). K separate groups of users have K of them: the first, which every
    graph has, and one for each direction in which groups differ. The other graphs have the same edges dealt out anew.
    """
    check_int("most", most, at_least=1)
    count = min(most, len(user_items.indptr) - 2, num_items - 1)
    if count < 1 or len(user_items.indices) == 0:
        return 1
    values = _spectrum(user_items, user_items.indices, num_items, count, seed)
    highest = 0.0
    for number in range(NUM_NULLS):
        generator = np.random.default_rng(derive_seed(seed, "null", number))
        dealt = generator.permutation(user_items.indices)
        null = _spectrum(user_items, dealt, num_items, min(2, count), seed)
        highest = max(highest, float(null[1]) if len(null) > 1 else 0.0)
    return max(1, 1 + int(np.count_nonzero(values[1:] > MARGIN * highest)))


def _spectrum(edges: Edges, indices: np.ndarray, num_items: int, count: int, seed: int) -> np.ndarray:
    """Return the `count` largest singular values, largest first."""
    num_users = len(edges.indptr) - 1
    ones = np.ones(len(indices), dtype=np.float64)
    matrix = sparse.csr_array((ones, indices.copy(), edges.indptr.copy()), shape=(num_users, num_items))
    matrix.sum_duplicates()
    users, items = np.asarray(matrix.sum(axis=1)).ravel(), np.asarray(matrix.sum(axis=0)).ravel()
    scaled = sparse.diags_array(1 / np.sqrt(users + users.mean())) @ matrix
    scaled = scaled @ sparse.diags_array(1 / np.sqrt(items + items.mean()))
    _, values, _ = randomized_svd(scaled, count, n_oversamples=10, n_iter=5, random_state=derive_seed(seed) % 2**32)
    found: np.ndarray = values
    return found
