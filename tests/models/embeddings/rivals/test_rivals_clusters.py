from __future__ import annotations

import numpy as np

from gossamer.models.embeddings.rivals.clusters import far_apart, kmeans, member_means, nearest_centres


def test_planted_clusters_are_found():
    generator = np.random.default_rng(0)
    truth = generator.normal(0, 10, (6, 4))
    rows = truth[np.arange(300) % 6] + generator.normal(0, 0.1, (300, 4))
    centres = kmeans(rows, 6, random_state=1)
    distances = np.linalg.norm(truth[:, np.newaxis] - centres, axis=2)
    assert distances.min(axis=1).max() < 0.1


def test_nearest_is_nearest():
    generator = np.random.default_rng(0)
    rows, centres = generator.normal(size=(50, 3)), generator.normal(size=(7, 3))
    distances = np.linalg.norm(rows[:, np.newaxis] - centres, axis=2)
    np.testing.assert_array_equal(nearest_centres(rows, centres), distances.argmin(axis=1))


def test_means_are_of_members_and_lonely_centres_stay():
    rows = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]])
    centres = np.array([[0.0, 0.0], [7.0, 7.0], [9.0, 9.0]])
    expected = [[2.0, 1.0], [7.0, 7.0], [5.0, 5.0]]
    np.testing.assert_array_equal(member_means(rows, np.array([0, 0, 2]), centres), expected)


def test_fewer_rows_than_centres_leave_zeros():
    centres = far_apart(np.ones((2, 3)), 4, np.random.default_rng(0))
    assert centres.shape == (4, 3)
    assert not centres[2:].any()
