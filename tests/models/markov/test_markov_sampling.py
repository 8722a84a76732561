from __future__ import annotations

import numpy as np

from gossamer.models.markov.sampling import sample_hmm_states, sample_hsmm_states


def test_hmm_states_have_the_models_frequencies():
    initial, transition = np.array([[0.2, 0.8]]), np.array([[[0.9, 0.1], [0.3, 0.7]]])
    states = sample_hmm_states(initial, transition, np.full(4000, 3), np.random.default_rng(0)).reshape(-1, 3)
    assert abs((states[:, 0] == 1).mean() - 0.8) < 0.03
    moved = states[states[:, 0] == 0, 1]
    assert abs((moved == 1).mean() - 0.1) < 0.03


def test_hsmm_segments_have_the_models_durations_and_never_repeat():
    initial, transition = np.array([[1.0, 0.0]]), np.array([[[0.0, 1.0], [1.0, 0.0]]])
    duration = np.array([[[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]])
    states = sample_hsmm_states(initial, transition, duration, np.full(2000, 4), np.random.default_rng(0)).reshape(
        -1, 4
    )
    assert (states[:, :3] == [0, 0, 1]).all()
    assert abs((states[:, 3] == 1).mean() - 0.5) < 0.04


def test_every_sequence_has_its_own_parameters_and_length():
    initial = np.array([[1.0, 0.0], [0.0, 1.0]])
    transition = np.stack([np.eye(2), np.eye(2)])
    lengths = np.array([2, 3])
    assert sample_hmm_states(initial, transition, lengths, np.random.default_rng(0)).tolist() == [0, 0, 1, 1, 1]
    swap = np.stack([1 - np.eye(2)] * 2)
    one_step = np.ones((2, 2, 1))
    found = sample_hsmm_states(initial, swap, one_step, lengths, np.random.default_rng(0))
    assert found.tolist() == [0, 1, 1, 0, 1]
