from __future__ import annotations

import numpy as np

from gossamer.models.markov.starts import LARGEST_SAMPLE, cluster_labels, mean_run


def test_clusters_are_found_and_missing_steps_take_the_one_before():
    features = np.repeat([[0.0], [9.0], [18.0]], 4, axis=0)
    missing = np.zeros(12, dtype=bool)
    missing[5] = True
    labels = cluster_labels(features, missing, 3, np.random.default_rng(0))
    assert len(set(labels)) == 3
    assert (labels.reshape(3, 4) == labels[::4, None]).all()


def test_fewer_points_than_states_is_no_warning():
    labels = cluster_labels(np.zeros((6, 1)), np.zeros(6, dtype=bool), 3, np.random.default_rng(0))
    assert labels.shape == (6,)


def test_many_steps_are_sampled():
    features = np.random.default_rng(0).normal(size=(LARGEST_SAMPLE + 50, 1))
    labels = cluster_labels(features, np.zeros(len(features), dtype=bool), 2, np.random.default_rng(0))
    assert len(labels) == len(features)
    assert (features[labels == 0].max() < features[labels == 1].min()) != (
        features[labels == 1].max() < features[labels == 0].min()
    )


def test_runs_do_not_cross_sequences():
    assert mean_run(np.zeros(6, dtype=np.int64), np.array([0, 2, 6])) == 3.0
