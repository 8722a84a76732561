"""Which gradient of a discrete code is worth its time?

Bias and deviation are relative to the norm of the true gradient, of a model with 64 codes; the bound (hard codes, nats
per image, lower is better) is that after 500 updates on planted images.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from discrete_problem import gradient_error, load_images, planted_images
from measuring import Contender, run_benchmark

from gossamer.models.discrete import SparseDiscreteVAE

SETTINGS: dict[str, Any] = {
    "num_features": 60,
    "max_active": 20,
    "encoder_dims": (128,),
    "decoder_dims": (128,),
    "batch_size": 100,
}


def judged(gradient: str, num_samples: int = 1) -> Contender:
    """Return a contender that trains with a gradient and tells what it reached."""

    def prepare(images: np.ndarray) -> Callable[[], dict[str, float]]:
        torch.set_num_threads(1)
        held_out, training = images[: len(images) // 5], images[len(images) // 5 :]
        epochs = max(1, 50_000 // len(training))
        model = SparseDiscreteVAE(gradient=gradient, num_samples=num_samples, epochs=epochs, **SETTINGS)
        error = gradient_error(gradient, num_samples)

        def measure() -> dict[str, float]:
            began = time.perf_counter()
            model.fit(training)
            seconds = time.perf_counter() - began
            return {"seconds": seconds, "bound": model.evaluate(held_out, num_samples=10)["hard"], **error}

        return measure

    return prepare


if __name__ == "__main__":
    run_benchmark(
        "discrete-gradients",
        "500 updates on planted images, 60 features in 20 slots; bias and deviation of a model with 64 codes",
        {"num_images": 6250, "num_pixels": 196, "num_strokes": 30},
        {
            "ReinMax": judged("reinmax"),
            "Straight-through": judged("straight-through"),
            "Gumbel straight-through": judged("gumbel-straight-through"),
            "Gumbel-Rao × 10": judged("gumbel-rao"),
            "Relaxed": judged("relaxed"),
            "Score function × 4": judged("score-function", 4),
            "Score function × 10": judged("score-function", 10),
        },
        small={"num_images": 250},
        make=planted_images,
        load=load_images,
        costs={"seconds": "seconds"},
        packages=("torch",),
    )
