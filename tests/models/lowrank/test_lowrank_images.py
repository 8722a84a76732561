"""Preparation and augmentation of inputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.lowrank.images import BORDER, CONTRAST, Preparation, augment


def test_images_are_flipped_alone_or_left_alone():
    images = np.arange(2 * 40 * 4 * 4, dtype=np.float32).reshape(40, 2, 4, 4)
    flipped = augment(images, np.random.default_rng(0), "flip")
    is_flipped = (flipped == images[..., ::-1]).all(axis=(1, 2, 3))
    assert 0 < is_flipped.sum() < 40
    assert np.array_equal(flipped[~is_flipped], images[~is_flipped])
    assert augment(images, np.random.default_rng(0), "none") is images


def test_columns_are_standardised():
    inputs = np.random.default_rng(0).normal(3, 2, size=(50, 4)).astype(np.float32)
    inputs[:, 3] = 1
    prepared = Preparation.fit("columns", inputs)(inputs).numpy()
    np.testing.assert_allclose(prepared.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(prepared.std(axis=0), [1, 1, 1, 0], atol=1e-5)


def test_standard_images_by_hand():
    images = np.full((1, 3, 2, 2), 255, dtype=np.uint8)
    prepared = Preparation.fit("standard", images)(images)
    assert prepared.shape == (1, 3, 2, 2)
    assert prepared[0, 1, 0, 0].item() == pytest.approx((1 - 0.456) / 0.224, rel=1e-5)


def test_channels_of_images_are_innermost_in_memory():
    images = np.random.default_rng(0).integers(256, size=(2, 3, 4, 5)).astype(np.uint8)
    preparation = Preparation.fit("standard", images)
    prepared = preparation(images)
    assert prepared.is_contiguous(memory_format=torch.channels_last)
    rows = (images.reshape(2, -1) - preparation.mean) / preparation.scale
    np.testing.assert_allclose(prepared.numpy().reshape(2, -1), rows, rtol=1e-6)
    assert Preparation.fit("columns", rows)(rows).is_contiguous()


def test_whitened_images_are_nearly_uncorrelated():
    rng = np.random.default_rng(0)
    images = (rng.normal(size=(400, 12)) @ rng.normal(size=(12, 12)) * 20 + 100).reshape(400, 3, 2, 2)
    prepared = Preparation.fit("whitened", images)(images).numpy().reshape(400, -1)
    values = np.linalg.eigvalsh(np.cov(prepared.T))
    assert values[0] < 1e-2  # every image's own mean is gone
    np.testing.assert_allclose(values[3:], 1, atol=0.1)  # but for the ridge
    assert CONTRAST == 55


def test_augmented_images_are_shifted_and_flipped_copies():
    images = np.arange(1, 3 * 6 * 6 + 1, dtype=np.uint8).reshape(1, 3, 6, 6)
    padded = np.pad(images[0], ((0, 0), (BORDER, BORDER), (BORDER, BORDER)))
    windows = [padded[:, top : top + 6, left : left + 6] for top in range(9) for left in range(9)]
    seen = [*windows, *(window[:, :, ::-1] for window in windows)]
    for seed in range(10):
        moved = augment(images, np.random.default_rng(seed))[0]
        assert any(np.array_equal(moved, window) for window in seen)
