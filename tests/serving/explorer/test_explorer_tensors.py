"""Arrays of a model: every one that is listed is found, and its numbers are NumPy's."""

from __future__ import annotations

import io

import numpy as np
import pytest

from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.explorer import tensors
from gossamer.serving.explorer.layers import look_inside
from gossamer.serving.explorer.tensors import describe_array, find_array, npy_bytes


@pytest.mark.parametrize("name", ["network", "topics", "ease"])
def test_everything_that_is_listed_can_be_opened(known, name):
    estimator = known[name].estimator
    for layer in look_inside(estimator).layers:
        for weight in layer.weights:
            found = describe_array(layer.name, weight.name, find_array(estimator, layer.name, weight.name))
            assert (found.shape, found.dtype, found.bytes) == (weight.shape, weight.dtype, weight.bytes)
            assert sum(found.counts) == found.values


def test_numbers_are_those_of_numpy():
    array = np.array([[0.0, 1.0, np.nan], [4.0, -3.0, np.inf]], dtype=np.float32)
    found = describe_array("layer", "weight", array)
    kept = np.array([0.0, 1.0, 4.0, -3.0])
    assert (found.low, found.high, found.zeros, found.not_finite) == (-3, 4, 1, 2)
    assert (found.mean, found.std) == (pytest.approx(kept.mean()), pytest.approx(kept.std()))
    assert found.corner == [[0, 1, None], [4, -3, None]]
    assert sum(found.counts) == 4


@pytest.mark.parametrize(
    "array",
    [np.empty((0, 3), np.float32), np.full(3, np.nan), np.ones(5, bool), np.float32(2), np.ones((2, 3, 4), np.int8)],
)
def test_odd_arrays_have_facts(array):
    found = describe_array("layer", "weight", np.asarray(array))
    assert found.values == np.size(array)
    assert (found.low is None) == (sum(found.counts) == 0)


def test_files_are_read_by_numpy_and_have_a_limit(monkeypatch):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(np.load(io.BytesIO(npy_bytes(array)), allow_pickle=False), array)
    monkeypatch.setattr(tensors, "MOST_BYTES", 23)
    with pytest.raises(CannotAnswer, match="the array must have at most 23 bytes to be sent to a browser, got 24"):
        npy_bytes(array)
    assert not describe_array("layer", "weight", array).can_download


def test_what_is_not_there(known):
    estimator = known["network"].estimator
    with pytest.raises(NotFound, match="has no weight 'absent'; it has "):
        find_array(estimator, "7", "absent")
    with pytest.raises(NotFound, match="This model has no layer 'absent' with weights"):
        find_array(estimator, "absent", "weight")
