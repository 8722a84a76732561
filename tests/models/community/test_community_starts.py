"""k-means on the sphere finds groups that are there, and gives full rank where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from gossamer.models.community.starts import community_start, group_start, spherical_kmeans, unit_rows


def groups(generator: np.random.Generator, count: int, width: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    centres = np.linalg.qr(generator.normal(size=(width, count)))[0].T
    labels = np.arange(60 * count) % count
    points = centres[labels] + spread * generator.normal(size=(len(labels), width))
    return points / np.linalg.norm(points, axis=1, keepdims=True), labels


def test_groups_are_found() -> None:
    points, labels = groups(np.random.default_rng(0), 5, 12, 0.15)
    centres, nearest = spherical_kmeans(points, 5, np.random.default_rng(1))
    assert adjusted_mutual_info_score(labels, nearest) > 0.95
    np.testing.assert_allclose(np.linalg.norm(centres, axis=1), 1)


def test_equal_points_still_give_communities_that_span_their_space() -> None:
    points = np.tile(np.eye(1, 6), (10, 1))
    start = community_start(points, 3, np.random.default_rng(0))
    assert np.linalg.matrix_rank(start) == 3
    with pytest.raises(ValueError, match="num_communities must be at most the number of users, 10, got 11"):
        community_start(points, 11, np.random.default_rng(0))


def test_groups_start_at_their_own_centres_however_much_they_overlap() -> None:
    points, labels = groups(np.random.default_rng(0), 4, 9, 0.8)
    start = group_start(points, np.eye(4)[labels], np.random.default_rng(1))
    for number in range(4):
        centre = points[labels == number].mean(axis=0)
        assert start[number] @ centre / np.linalg.norm(centre) > 0.999
    nobody = np.concatenate([np.eye(4)[labels], np.zeros((len(labels), 1))], axis=1)
    assert np.linalg.matrix_rank(group_start(points, nobody, np.random.default_rng(1))) == 5


def test_unit_rows_leave_zeros_alone() -> None:
    np.testing.assert_allclose(unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]])
