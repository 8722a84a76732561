from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gossamer.models.embeddings.knowledge.anchors_select import (
    STRATEGIES,
    lightweight_coreset,
    most_important,
    random_basis,
    select_anchors,
    spread_out,
)


def clusters(num_clusters: int = 5, size: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    centres = 10 * np.eye(num_clusters, 6)
    labels = np.repeat(np.arange(num_clusters), size)
    return (centres[labels] + 0.05 * generator.normal(size=(len(labels), 6))).astype(np.float32), labels


def test_one_anchor_per_planted_cluster() -> None:
    features, labels = clusters()
    for seed in range(5):
        assert sorted(labels[spread_out(features, 5, random_state=seed)]) == [0, 1, 2, 3, 4]


def test_clustering_completes_what_frequency_has_not_covered() -> None:
    """Figure 2: the frequent objects crowd in one cluster, k-means++ spans the others."""
    features, labels = clusters()
    counts = np.where(labels == 0, 100, 1) + np.arange(len(labels)) % 7
    ids = select_anchors("frequency-clustering", 8, counts=counts, features=features, random_state=3)
    np.testing.assert_array_equal(ids[:4], most_important(counts, 4))
    assert (labels[ids[:4]] == 0).all()
    assert sorted(labels[ids[4:]].tolist()) == [1, 2, 3, 4]


def test_the_second_object_is_drawn_by_squared_distance() -> None:
    features = np.array([[0.0], [1.0], [2.0]])
    seconds = [spread_out(features, 2, chosen=[0], random_state=seed)[1] for seed in range(1000)]
    assert np.mean(np.array(seconds) == 2) == pytest.approx(4 / 5, abs=0.06)


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(0, 1000))
def test_sparse_features_choose_the_same_objects_and_all_differ(num_anchors: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    features = generator.integers(0, 3, size=(12, 4)).astype(np.float64)
    dense = spread_out(features, num_anchors, random_state=seed)
    np.testing.assert_array_equal(dense, spread_out(sparse.csr_array(features), num_anchors, random_state=seed))
    assert len(set(dense.tolist())) == num_anchors
    chosen = lightweight_coreset(features, num_anchors, random_state=seed)
    np.testing.assert_array_equal(
        chosen, lightweight_coreset(sparse.csr_array(features), num_anchors, random_state=seed)
    )
    assert len(set(chosen.tolist())) == num_anchors


def test_copies_are_chosen_only_when_nothing_new_is_left() -> None:
    features = np.repeat([[0.1, 0.7], [1e3, 2.0]], 4, axis=0).astype(np.float32)
    ids = spread_out(features, 8, random_state=0)
    assert len({tuple(row) for row in features[ids[:2]]}) == 2
    assert sorted(ids) == list(range(8))


def test_coreset_draws_by_half_uniform_half_spread() -> None:
    features = np.array([[0.0], [0.0], [0.0], [4.0]])
    draws = [lightweight_coreset(features, 1, random_state=seed)[0] for seed in range(1000)]
    # The mean is 1: squared distances 1, 1, 1, 9, so the last has 1/8 + 9/24.
    assert np.mean(np.array(draws) == 3) == pytest.approx(0.5, abs=0.06)
    assert sorted(lightweight_coreset(np.ones((3, 2)), 3).tolist()) == [0, 1, 2]


@pytest.mark.parametrize("select", [spread_out, lightweight_coreset])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_memory_grows_with_the_objects_not_with_their_pairs(
    select: Callable[..., np.ndarray], form: Callable[[np.ndarray], np.ndarray]
) -> None:
    features = form(np.random.default_rng(0).normal(size=(5000, 4)))
    tracemalloc.start()
    select(features, 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5000 * 8 * 50  # all pairs would be 5000 numbers per object


def test_random_basis_is_orthonormal_up_to_the_dimension_and_in_blocks_beyond() -> None:
    basis = random_basis(10, 4, random_state=1)
    assert basis.shape == (10, 4)
    for block in basis.split(4):
        torch.testing.assert_close(block @ block.T, torch.eye(len(block)), atol=1e-5, rtol=0)
    torch.testing.assert_close(basis, random_basis(10, 4, random_state=1))
    assert not torch.equal(basis, random_basis(10, 4, random_state=2))


def test_every_strategy_by_name_is_a_function_of_its_seed() -> None:
    features, _ = clusters()
    counts = np.arange(len(features))
    for strategy in STRATEGIES[1:]:
        first = select_anchors(strategy, 7, counts=counts, features=features, random_state=4)
        np.testing.assert_array_equal(
            first, select_anchors(strategy, 7, counts=counts, features=features, random_state=4)
        )
        assert len(set(first.tolist())) == 7


def test_bad_input_is_named() -> None:
    features, _ = clusters()
    with pytest.raises(ValueError, match="num_anchors must be at most the 150 objects, got 151"):
        spread_out(features, 151)
    with pytest.raises(ValueError, match="num_anchors must be at most the 2 objects, got 3"):
        most_important(np.array([1, 2]), 3)
    with pytest.raises(ValueError, match="features must be given for strategy 'clustering', got None"):
        select_anchors("clustering", 3)
    with pytest.raises(ValueError, match="counts must be given for strategy 'tfidf', got None"):
        select_anchors("tfidf", 3)
    with pytest.raises(ValueError, match=r"strategy must be one of 'frequency'.*, got 'luck'"):
        select_anchors("luck", 3)
    with pytest.raises(ValueError, match="counts must be one finite number per object"):
        most_important(np.array([1.0, np.nan]), 1)
    with pytest.raises(ValueError, match="chosen must be at most 2 different objects"):
        spread_out(features, 2, chosen=[1, 1])
    features[3, 0] = np.nan
    with pytest.raises(ValueError, match="features must be finite, got NaN or infinity in row 3"):
        spread_out(features, 2)
