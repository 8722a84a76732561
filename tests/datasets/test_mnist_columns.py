"""Images in columns: digits of the right part, counted, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.data import LabelledArrays
from gossamer.datasets import mnist


@pytest.fixture
def _ten_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """MNIST with ten images: that of digit d has the value d + 1 everywhere, + 100 in the test part."""

    def load(*, part: str = "train") -> LabelledArrays:
        values = np.arange(1, 11, dtype=np.uint8) + (100 if part == "test" else 0)
        return LabelledArrays(np.broadcast_to(values[:, None, None], (10, 28, 28)).copy(), np.arange(10))

    monkeypatch.setattr(mnist, "load_mnist", load)


@pytest.mark.usefixtures("_ten_digits")
@pytest.mark.parametrize(("part", "offset"), [("train", 1), ("test", 101)])
def test_targets_count_what_is_shown(part: str, offset: int) -> None:
    data = datasets.load("mnist-columns", part=part, num_images=50, num_columns=3)
    assert data.inputs.shape == (50, 28, 84)
    assert data.targets is not None
    for image, counts in zip(data.inputs, data.targets, strict=True):
        values = image[0, ::28].astype(int)
        shown = values[values > 0] - offset
        np.testing.assert_array_equal(counts, np.bincount(shown, minlength=10))
    again = datasets.load("mnist-columns", part=part, num_images=50, num_columns=3)
    assert again.fingerprint() == data.fingerprint()
    assert datasets.load("mnist-columns", part=part, num_images=50, seed=1).fingerprint() != data.fingerprint()


@pytest.mark.usefixtures("_ten_digits")
def test_columns_are_empty_as_often_as_asked() -> None:
    sums = [datasets.load("mnist-columns", num_images=400, empty=empty).targets.sum() for empty in (0.0, 0.5, 1.0)]
    assert sums[0] == 2000
    assert 850 < sums[1] < 1150
    assert sums[2] == 0


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match=r"empty must be a finite number >= 0 and <= 1, got 2"):
        datasets.load("mnist-columns", empty=2)
    with pytest.raises(ValueError, match="part must be one of 'train', 'test', got 'all'"):
        datasets.load("mnist-columns", part="all")


@pytest.mark.data
def test_real_columns() -> None:
    data = datasets.load("mnist-columns", part="test")
    assert data.inputs.shape == (1000, 28, 140)
    assert data.targets is not None
    assert data.targets.sum(axis=1).max() == 5
