"""The made-up collection: a function of its seed, parts that share prototypes and no model."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets.hsmm_collection import load_hsmm_collection, true_parameters

SMALL = {"num_train": 6, "num_valid": 2, "num_test": 4}


def test_parts_are_different_models_of_one_collection():
    train, test = (load_hsmm_collection(part=part, **SMALL) for part in ("train", "test"))
    assert len(train) == 6
    assert test.lengths.tolist() == [50] * 4
    assert train.features.shape == (6, 64)
    assert not set(train.names) & set(test.names)
    assert train.fingerprint() == datasets.load("hsmm-collection", **SMALL).fingerprint()
    assert train.fingerprint() != load_hsmm_collection(seed=1, **SMALL).fingerprint()
    longer = load_hsmm_collection(length=80, **SMALL)
    assert longer.features.tolist() == train.features.tolist()  # the same models, seen for longer


def test_the_truth_is_found_by_name():
    data = load_hsmm_collection(length=400, **SMALL)
    truth = true_parameters(data.names)
    assert truth["emission.means"].shape == (6, 10, 5)
    np.testing.assert_allclose(truth["transition"].sum(-1), 1)
    assert (np.diagonal(truth["transition"], axis1=1, axis2=2) == 0).all()
    rows = np.flatnonzero(data.states[:400] == data.states[0])
    distance = np.abs(data.observations[rows].mean(axis=0) - truth["emission.means"][0, data.states[0]])
    assert distance.max() < 4 * 0.9 / np.sqrt(len(rows))


def test_noise_replaces_observations_by_others_of_the_series():
    clean, noisy = (load_hsmm_collection(noise=noise, **SMALL) for noise in (0.0, 0.2))
    changed = (clean.observations != noisy.observations).any(axis=1)
    assert 0.1 < changed.mean() < 0.3
    first = set(map(tuple, clean.observations[:50].tolist()))
    assert set(map(tuple, noisy.observations[:50].tolist())) <= first
    assert clean.states.tolist() == noisy.states.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part": "rest"}, "part must be one of 'train', 'valid', 'test', got 'rest'"),
        ({"length": 1}, "length must be an integer >= 2, got 1"),
        ({"noise": 1.0}, "noise must be .*, got 1"),
        ({"num_test": 0}, "num_test must be an integer >= 1, got 0"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        load_hsmm_collection(**options)
