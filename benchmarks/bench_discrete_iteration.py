"""What does an update of a sparse discrete VAE cost, against the Gumbel-softmax VAE with the same networks?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from discrete_problem import load_images, planted_images
from measuring import Contender, run_benchmark

from gossamer.models.discrete import GumbelVAE, SparseDiscreteVAE


def trained(make: Callable[..., Any], **arguments: Any) -> Contender:
    """Return a contender that trains one epoch with batches of 100: networks and K = 200 as in the paper."""

    def prepare(images: np.ndarray) -> Callable[[], None]:
        torch.set_num_threads(1)
        make(epochs=1, **arguments).fit(images[:200])

        def train() -> None:
            make(epochs=1, **arguments).fit(images)

        return train

    return prepare


if __name__ == "__main__":
    run_benchmark(
        "discrete-iteration",
        "200 updates of batches of 100 images, 784-512-384-256 encoder and its reverse, K = 200, L0 = 40, one thread",
        {"num_images": 20_000, "num_pixels": 784, "num_strokes": 40},
        {
            "Slots, ReinMax": trained(SparseDiscreteVAE),
            "Slots, straight-through": trained(SparseDiscreteVAE, gradient="straight-through"),
            "Slots, chained prior, ReinMax": trained(SparseDiscreteVAE, prior="chain"),
            "Gumbel-softmax VAE, categorical": trained(GumbelVAE),
            "Gumbel-softmax VAE, Bernoulli": trained(GumbelVAE, kind="bernoulli"),
            "SDLGM, straight-through": trained(SparseDiscreteVAE, codes="shared", gradient="straight-through"),
            "SDLGM, relaxed": trained(SparseDiscreteVAE, codes="shared", gradient="relaxed"),
        },
        small={"num_images": 500},
        make=planted_images,
        load=load_images,
        costs={"seconds": "seconds"},
        packages=("torch",),
    )
