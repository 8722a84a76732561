"""CIFAR-10: small colour images in ten classes, from the official binary version or from lossless WebP sheets."""

from __future__ import annotations

import io

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.data import LabelledArrays
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Download, Files, Source, check_count

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {"train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)), "test": ("test_batch.bin",)}
SHEETS = {"train": tuple(f"train_{number}.webp" for number in range(4)), "test": ("test_0.webp", "test_1.webp")}
IMAGES_PER_BATCH, IMAGES_PER_SHEET, SHEET_COLUMNS, SIDE = 10_000, 5_000, 50, 32
RECORD_BYTES = 1 + 3 * SIDE * SIDE
# The pickled "python version" of the archive is never used: unpickling a download would execute it.
SOURCE = Source(
    "cifar10",
    ((*BATCHES["train"], *BATCHES["test"]), (*SHEETS["train"], *SHEETS["test"], "labels.npz")),
    (
        Download(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            "md5:c32a1d4ab5d03f1284b67883e8d87530",
            (*BATCHES["train"], *BATCHES["test"]),
        ),
    ),
)


def load_cifar10(*, part: str = "train") -> LabelledArrays:
    """Return images (N, 3, 32, 32) of bytes 0 … 255, red, green, blue, and classes (N,) of `part` "train" or "test".

    The official binary version has 50,000 training images; the WebP sheets hold 20,000 of them, 2,000 per class.
    """
    check_choice("part", part, list(BATCHES))
    files = SOURCE.obtain()
    images, classes = _read_batches(files, part) if "test_batch.bin" in files else _read_sheets(files, part)
    if len(classes) and classes.max() >= len(CLASSES):
        raise ValueError(f"{files.directory} must have classes 0 … 9, got {classes.max()}")
    return LabelledArrays(images, classes.astype(np.int64), target_names=CLASSES)


def _read_batches(files: Files, part: str) -> tuple[np.ndarray, np.ndarray]:
    records = []
    for name in BATCHES[part]:
        content = files.read(name)
        check_count("bytes", len(content), IMAGES_PER_BATCH * RECORD_BYTES, files.paths[name])
        records.append(np.frombuffer(content, dtype=np.uint8).reshape(-1, RECORD_BYTES))
    together = np.concatenate(records)
    return together[:, 1:].reshape(-1, 3, SIDE, SIDE), together[:, 0]


def _read_sheets(files: Files, part: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(io.BytesIO(files.read("labels.npz")), allow_pickle=False) as stored:
        classes = stored[f"y_{part}"]
    images = np.concatenate([_read_sheet(files, name) for name in SHEETS[part]])
    check_count("labels", len(classes), len(images), files.paths["labels.npz"])
    return images, classes


def _read_sheet(files: Files, name: str) -> np.ndarray:
    """Cut a contact sheet of 100 rows × 50 columns into its images."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(files.read(name))) as sheet:
            pixels = np.asarray(sheet.convert("RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError(f"{files.paths[name]} must be a WebP image, got: {error}") from None
    check_count("pixels", pixels.shape[0] * pixels.shape[1], IMAGES_PER_SHEET * SIDE * SIDE, files.paths[name])
    cut = pixels.reshape(-1, SIDE, SHEET_COLUMNS, SIDE, 3).transpose(0, 2, 4, 1, 3)
    return cut.reshape(IMAGES_PER_SHEET, 3, SIDE, SIDE)


DATASETS = {
    "cifar10": Dataset(
        DatasetInfo(
            title="CIFAR-10: small colour images",
            kind="LabelledArrays",
            size="50,000 train and 10,000 test images of 3 × 32 × 32, 10 classes",
            licence="none stated",
            homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
            citation="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
        ),
        load_cifar10,
        SOURCE,
        parts=("train", "test"),
    )
}
