from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from gossamer import datasets
from gossamer.datasets import cifar10

IMAGES = np.random.default_rng(0).integers(0, 256, size=(4, 3, 32, 32), dtype=np.uint8)
CLASSES = np.array([3, 0, 9, 1], dtype=np.uint8)


def sheet(images):
    rows = images.transpose(0, 2, 3, 1).reshape(-1, 2, 32, 32, 3).transpose(0, 2, 1, 3, 4).reshape(-1, 64, 3)
    stream = io.BytesIO()
    Image.fromarray(rows).save(stream, "WEBP", lossless=True)
    return stream.getvalue()


def write_sheets(put, monkeypatch):
    monkeypatch.setattr(cifar10, "IMAGES_PER_SHEET", 4)
    monkeypatch.setattr(cifar10, "SHEET_COLUMNS", 2)
    for name in (*cifar10.SHEETS["train"], *cifar10.SHEETS["test"]):
        put(f"cifar10/{name}", sheet(IMAGES))
    stream = io.BytesIO()
    np.savez(stream, y_train=np.tile(CLASSES, 4), y_test=np.tile(CLASSES, 2))
    put("cifar10/labels.npz", stream.getvalue())


def test_sheets_are_cut_into_their_images(put, monkeypatch):
    write_sheets(put, monkeypatch)
    train, test = datasets.load("cifar10"), datasets.load("cifar10", part="test")
    np.testing.assert_array_equal(train.inputs[4:8], IMAGES)
    assert test.targets.tolist() == [3, 0, 9, 1, 3, 0, 9, 1]
    assert train.target_names[3] == "cat"


def test_the_official_binary_version_is_preferred(put, monkeypatch):
    write_sheets(put, monkeypatch)
    monkeypatch.setattr(cifar10, "IMAGES_PER_BATCH", 4)
    batch = np.concatenate([CLASSES[:, None], IMAGES.reshape(4, -1)], axis=1).tobytes()
    for name in (*cifar10.BATCHES["train"], *cifar10.BATCHES["test"]):
        put(f"cifar10/{name}", batch)
    train = datasets.load("cifar10")
    assert len(train) == 20
    np.testing.assert_array_equal(train.inputs[:4], IMAGES)
    put("cifar10/test_batch.bin", batch[:-1])
    with pytest.raises(ValueError, match=r"test_batch\.bin must hold 12,292 bytes, got 12,291"):
        datasets.load("cifar10", part="test")
    put("cifar10/test_batch.bin", bytes([77]) + batch[1:])
    with pytest.raises(ValueError, match="must have classes 0 … 9, got 77"):
        datasets.load("cifar10", part="test")


def test_a_sheet_that_is_no_image_is_named(put, monkeypatch):
    write_sheets(put, monkeypatch)
    put("cifar10/test_1.webp", b"no image")
    with pytest.raises(ValueError, match=r"test_1\.webp must be a WebP image, got"):
        datasets.load("cifar10", part="test")


@pytest.mark.data
def test_real_cifar10():
    test = datasets.load("cifar10", part="test")
    assert np.bincount(test.targets).tolist() == [1_000] * 10
    train = datasets.load("cifar10")
    assert len(set(np.bincount(train.targets).tolist())) == 1
    np.testing.assert_allclose(train.inputs.mean(axis=(0, 2, 3)) / 255, [0.4914, 0.4822, 0.4465], atol=0.005)
