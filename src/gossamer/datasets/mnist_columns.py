"""Images of several digits side by side, made of MNIST: how often does each digit appear?"""

from __future__ import annotations

import numpy as np

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import derive_seed
from gossamer.data import LabelledArrays
from gossamer.datasets import mnist
from gossamer.datasets.dataset import Dataset, DatasetInfo

SIZES = {"train": 5_000, "test": 1_000}


def load_mnist_columns(
    *, part: str = "train", num_images: int | None = None, num_columns: int = 5, empty: float = 0.5, seed: int = 0
) -> LabelledArrays:
    """Return images (N, 28, 28 · `num_columns`) of bytes and how often each digit is in them (N, 10).

    A column is empty with probability `empty`, else a digit drawn with replacement from MNIST's own `part`, so that no
    handwriting is in both parts. `num_images` is 5,000 of "train" and 1,000 of "test", as in section IV-C of the
    SDLGM paper, unless said otherwise. The paper does not say how many columns are empty; a half fits the examples
    that it shows.

    The same `seed` gives the same images.
    """
    check_choice("part", part, list(SIZES))
    num_images = SIZES[part] if num_images is None else check_int("num_images", num_images, at_least=1)
    check_int("num_columns", num_columns, at_least=1)
    check_real("empty", empty, at_least=0, at_most=1)
    check_int("seed", seed, at_least=0)
    digits = mnist.load_mnist(part=part)
    assert digits.targets is not None
    generator = np.random.default_rng(derive_seed(seed, "mnist-columns", part))
    chosen = generator.integers(len(digits), size=(num_images, num_columns))
    is_shown = generator.random((num_images, num_columns)) >= empty
    columns = digits.inputs[chosen] * is_shown[:, :, None, None].astype(np.uint8)
    images = columns.transpose(0, 2, 1, 3).reshape(num_images, 28, 28 * num_columns)
    counts = np.zeros((num_images, 10), dtype=np.int64)
    rows = np.broadcast_to(np.arange(num_images)[:, None], chosen.shape)
    np.add.at(counts, (rows[is_shown], digits.targets[chosen][is_shown]), 1)
    return LabelledArrays(images, counts, target_names=tuple("0123456789"))


DATASETS = {
    "mnist-columns": Dataset(
        DatasetInfo(
            title="MNIST in columns: images of up to five digits side by side",
            kind="LabelledArrays",
            size="5,000 train and 1,000 test images of 28 × 140, counts of 10 digits",
            licence="CC BY-SA 3.0",
            homepage="http://yann.lecun.com/exdb/mnist/",
            citation="made of MNIST (LeCun et al. 1998) after section IV-C of Xu et al., Learning Sparsity of "
            "Representations with Discrete Latent Variables, IJCNN 2021",
        ),
        load_mnist_columns,
        mnist.SOURCE,
        parts=("train", "test"),
    )
}
