"""MNIST: handwritten digits."""

from __future__ import annotations

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.data import LabelledArrays
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Download, Files, Source, check_count

ADDRESS = "https://ossci-datasets.s3.amazonaws.com/mnist"
# Of the .gz files, as published with the data and used by torchvision.
ARCHIVE_MD5 = {
    "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
}
# Of the uncompressed content: copies are often compressed anew.
CONTENT_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
}
SIZES = {"train": 60_000, "test": 10_000}
UNSIGNED_BYTES = 8  # the idx format's code for uint8
SOURCE = Source(
    "mnist",
    (tuple(ARCHIVE_MD5),),
    tuple(Download(f"{ADDRESS}/{name}.gz", f"md5:{md5}") for name, md5 in ARCHIVE_MD5.items()),
    CONTENT_MD5,
)


def load_mnist(*, part: str = "train") -> LabelledArrays:
    """Return images (N, 28, 28) of bytes 0 … 255 and digits (N,) of `part` "train" or "test"."""
    check_choice("part", part, list(SIZES))
    files = SOURCE.obtain()
    prefix = "train" if part == "train" else "t10k"
    images = read_idx(files, f"{prefix}-images-idx3-ubyte", (SIZES[part], 28, 28))
    digits = read_idx(files, f"{prefix}-labels-idx1-ubyte", (SIZES[part],))
    return LabelledArrays(images, digits.astype(np.int64), target_names=tuple("0123456789"))


def read_idx(files: Files, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return the bytes of an idx file: a magic number, the shape as big-endian integers, then the data."""
    content = files.read(name)
    header = 4 + 4 * len(shape)
    expected_header = bytes([0, 0, UNSIGNED_BYTES, len(shape)]) + np.array(shape, dtype=">u4").tobytes()
    if content[:header] != expected_header:
        raise ValueError(f"{files.paths[name]} must be an idx file of bytes with shape {shape}, got another header")
    check_count("bytes of data", len(content) - header, int(np.prod(shape)), files.paths[name])
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


DATASETS = {
    "mnist": Dataset(
        DatasetInfo(
            title="MNIST: handwritten digits",
            kind="LabelledArrays",
            size="60,000 train and 10,000 test images of 28 × 28",
            licence="CC BY-SA 3.0",
            homepage="http://yann.lecun.com/exdb/mnist/",
            citation="LeCun, Bottou, Bengio and Haffner, Gradient-based Learning, Proc. IEEE 1998",
        ),
        load_mnist,
        SOURCE,
        parts=("train", "test"),
    )
}
