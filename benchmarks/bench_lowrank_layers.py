"""How fast is a split convolution, beside the whole one and tensorly-torch's at no fewer parameters?

64 → 64 channels, 3 × 3. Ours have the largest rank within half of the parameters; tensorly-torch's `FactorizedConv`
(Tucker, CP) gets `rank=0.5`, its own word for that share; the column of values says what came out. Seconds are the
median of one forward pass. Error is ‖W − Ŵ‖ / ‖W‖ of a kernel of random numbers, the hardest there is.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from measuring import Arrays, run_benchmark
from torch import nn

from gossamer.models.lowrank import Budget, compress

SHARE = 0.5
COLUMNS = {"seconds": "s/forward", "values": "values", "error": "error"}


def convolution_arrays(batch_size: int, side: int, channels: int, steps: int) -> Arrays:
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(channels, channels, 3, 3)).astype(np.float32) / channels
    images = rng.normal(size=(batch_size, channels, side, side)).astype(np.float32)
    return {"weight": weight, "images": images, "steps": np.array(steps)}


def contender(
    build: Callable[[nn.Conv2d, torch.Tensor], nn.Module],
) -> Callable[[Arrays], Callable[[], dict[str, float]]]:
    def prepare(arrays: Arrays) -> Callable[[], dict[str, float]]:
        weight, images = torch.from_numpy(arrays["weight"]), torch.from_numpy(arrays["images"])
        whole = nn.Conv2d(weight.shape[1], weight.shape[0], 3, padding=1, bias=False)
        whole.weight.data = weight
        layer = build(whole, images)

        @torch.no_grad()
        def measure() -> dict[str, float]:
            # A kernel is what a convolution answers to a single bright pixel, turned around.
            pixel = torch.zeros(weight.shape[1], weight.shape[1], 3, 3)
            pixel[range(len(pixel)), range(len(pixel)), 1, 1] = 1
            response = layer(pixel).transpose(0, 1).flip(2, 3)
            error = float((response - weight).norm() / weight.norm())
            seconds = []
            for _ in range(int(arrays["steps"])):
                began = time.perf_counter()
                layer(images)
                seconds.append(time.perf_counter() - began)
            values = sum(parameter.numel() for parameter in layer.parameters())
            return {"seconds": float(np.median(seconds[1:])), "values": values, "error": error}

        return measure

    return prepare


def ours(scheme: str) -> Callable[[nn.Conv2d, torch.Tensor], nn.Module]:
    def build(whole: nn.Conv2d, images: torch.Tensor) -> nn.Module:
        options = {"allocator": "pos_cvx", "scheme": scheme, "fitted": False}
        return compress(whole, data=[images[:1]], budget=Budget(params=SHARE), **options).eval()

    return build


def tensorly_torch(factorization: str) -> Callable[[nn.Conv2d, torch.Tensor], nn.Module]:
    def build(whole: nn.Conv2d, _: torch.Tensor) -> nn.Module:
        try:
            from tltorch import FactorizedConv
        except ImportError:
            raise SystemExit("tensorly-torch is missing: pip install 'gossamer[bench]'") from None
        options = {"factorization": factorization, "implementation": "factorized"}
        return FactorizedConv.from_conv(whole, rank=SHARE, decompose_weights=True, **options).eval()

    return build


if __name__ == "__main__":
    run_benchmark(
        "lowrank-layers",
        "Forward pass of a 3 × 3 convolution, 64 → 64 channels, at half of its parameters",
        {"batch_size": 64, "side": 16, "channels": 64, "steps": 21},
        {
            "gossamer, spatial": contender(ours("spatial")),
            "gossamer, channel": contender(ours("channel")),
            "whole": contender(lambda whole, _: whole),
            "tensorly-torch, Tucker": contender(tensorly_torch("tucker")),
            "tensorly-torch, CP": contender(tensorly_torch("cp")),
        },
        small={"batch_size": 2, "side": 8, "channels": 16, "steps": 4},
        make=convolution_arrays,
        load=dict,
        costs=COLUMNS,
        packages=("tensorly-torch",),
    )
