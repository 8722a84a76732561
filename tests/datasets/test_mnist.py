from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets import mnist


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return gzip.compress(header + array.tobytes())


@pytest.fixture
def small(put, monkeypatch):
    monkeypatch.setattr(mnist, "SIZES", {"train": 3, "test": 2})
    monkeypatch.setattr(mnist, "SOURCE", replace(mnist.SOURCE, content_md5={}))
    images = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(3, 28, 28)
    put("mnist/train-images-idx3-ubyte.gz", idx(images))
    put("mnist/train-labels-idx1-ubyte.gz", idx(np.array([7, 0, 9], dtype=np.uint8)))
    put("mnist/t10k-images-idx3-ubyte.gz", idx(images[:2]))
    put("mnist/t10k-labels-idx1-ubyte.gz", idx(np.array([1, 2], dtype=np.uint8)))
    return images


def test_images_and_digits_of_both_parts(small):
    train, test = datasets.load("mnist"), datasets.load("mnist", part="test")
    np.testing.assert_array_equal(train.inputs, small)
    assert train.targets.tolist() == [7, 0, 9]
    assert test.targets.tolist() == [1, 2]


def test_other_headers_and_cut_data_are_refused(small, put):
    put("mnist/train-labels-idx1-ubyte.gz", idx(np.array([7, 0], dtype=np.uint8)))
    with pytest.raises(ValueError, match=r"must be an idx file of bytes with shape \(3,\), got another header"):
        datasets.load("mnist")
    put("mnist/train-labels-idx1-ubyte.gz", gzip.compress(gzip.decompress(idx(np.zeros(3, dtype=np.uint8)))[:-1]))
    with pytest.raises(ValueError, match="must hold 3 bytes of data, got 2"):
        datasets.load("mnist")


@pytest.mark.data
def test_real_mnist():
    train = datasets.load("mnist")
    assert np.bincount(train.targets).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert train.inputs.mean() / 255 == pytest.approx(0.1307, abs=1e-4)
    assert train.inputs.std() / 255 == pytest.approx(0.3081, abs=1e-4)
    assert datasets.load("mnist", part="test").inputs.shape == (10_000, 28, 28)
