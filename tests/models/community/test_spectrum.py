"""Groups of unequal size are found in the graph's own spectrum; a user without items is of none in particular."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from gossamer.datasets.planted_communities import load_planted_communities, true_communities
from gossamer.models.community import spectrum
from gossamer.models.community.graph import Edges
from gossamer.models.community.spectrum import graph_spectrum, spectral_groups


def test_the_spectrum_is_that_of_the_scaled_matrix() -> None:
    generator = np.random.default_rng(0)
    dense = (generator.random((9, 6)) < 0.5).astype(float)
    rows, columns = np.nonzero(dense)
    edges = Edges(np.searchsorted(rows, np.arange(10)), columns.astype(np.int32))
    users, items = dense.sum(axis=1), dense.sum(axis=0)
    scaled = dense / np.sqrt(np.outer(users + users.mean(), items + items.mean()))
    expected_vectors, expected, _ = np.linalg.svd(scaled)
    vectors, values = graph_spectrum(edges, edges.indices, 6, 3, seed=0)
    np.testing.assert_allclose(values, expected[:3], rtol=1e-6)
    np.testing.assert_allclose(np.abs(vectors), np.abs(expected_vectors[:, :3]), atol=1e-5)


@pytest.mark.parametrize("is_sampled", [False, True])
def test_planted_groups_of_unequal_size_are_found(is_sampled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_sampled:  # centres from some users, groups of all
        monkeypatch.setattr(spectrum, "MOST_FOR_START", 300)
    data = load_planted_communities(num_users=900, num_items=400, num_communities=6, mixing=0.3, seed=7)
    edges = Edges(data.indptr, data.indices)
    groups = spectral_groups(edges, data.num_items, count=6, temperature=0.05, seed=0)
    np.testing.assert_allclose(groups.sum(axis=1), 1, rtol=1e-5)
    truth = true_communities(data.users)
    assert adjusted_mutual_info_score(truth, groups.argmax(axis=1)) > 0.95
    sizes = np.sort(groups.sum(axis=0))
    np.testing.assert_allclose(sizes, np.sort(np.bincount(truth)), rtol=0.15)
    again = spectral_groups(edges, data.num_items, count=6, temperature=0.05, seed=0)
    np.testing.assert_array_equal(groups, again)


def test_users_without_items_are_of_all_groups_and_more_groups_than_items_are_no_error() -> None:
    edges = Edges(np.array([0, 1, 2, 2, 4, 6]), np.array([0, 1, 0, 1, 0, 1], dtype=np.int32))
    groups = spectral_groups(edges, 2, count=3, temperature=0.05, seed=0)
    np.testing.assert_allclose(groups[2], 1 / 3, rtol=1e-5)
    assert np.isfinite(groups).all()
    with pytest.raises(ValueError, match="num_communities must be at most the number of users, 4, got 5"):
        spectral_groups(edges, 2, count=5, temperature=0.05, seed=0)
