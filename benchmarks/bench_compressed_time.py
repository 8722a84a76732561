"""Does a network that was compressed to 0.75 of the measured time take 0.75 of it when it is timed again?

NIN and ResNet-20 with new weights, compressed for one image and for 64 at a time by POS-CVX, ResNet-20 with its batch
norms folded into its convolutions, beside half of NIN's multiply-adds.
Every contender's process times its network against the whole one in turns, the fastest of many runs each, and every
split layer against the layer that it stands for, on the inputs that this layer really gets: "slowest layer" is the
largest of those shares, and above 1 where a split layer is slower than the whole one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from measuring import Arrays, run_benchmark
from torch import Tensor, nn

from gossamer.models.lowrank import Budget, compress
from gossamer.models.lowrank.timing import milliseconds_of
from gossamer.networks.nin import NIN
from gossamer.networks.resnet import ResNet

SIZES = (1, 64)
COLUMNS = {
    f"{what}_{size}": f"{said}, {size} at a time"
    for size in SIZES
    for what, said in (("share", "share of time"), ("slowest", "slowest layer"))
}


def image_arrays(batches: int, repeats: int) -> Arrays:
    images = np.random.default_rng(0).normal(size=(batches * max(SIZES), 3, 32, 32)).astype(np.float32)
    return {"images": images, "repeats": np.array(repeats)}


def contender(
    make: Callable[[], nn.Module], budget: Budget, scheme: str, *, fold: bool = False
) -> Callable[[Arrays], Callable[[], dict[str, float]]]:
    def prepare(arrays: Arrays) -> Callable[[], dict[str, float]]:
        torch.manual_seed(0)
        whole = make().eval()
        images = torch.from_numpy(arrays["images"]).contiguous(memory_format=torch.channels_last)
        batches, repeats = list(images.split(max(SIZES))), int(arrays["repeats"])
        options = {"allocator": "pos_cvx", "scheme": scheme, "budget": budget, "fold": fold}
        made = {size: compress(whole, data=batches, example=images[:size], **options) for size in SIZES}

        def measure() -> dict[str, float]:
            found = {}
            for size, small in made.items():
                inputs = images[:size]
                before, after = milliseconds_of([partial(whole, inputs), partial(small, inputs)], repeats)
                found |= {f"share_{size}": after / before, f"slowest_{size}": slowest(whole, small, inputs, repeats)}
            return found

        return measure

    return prepare


@torch.no_grad()
def slowest(whole: nn.Module, small: nn.Module, inputs: Tensor, repeats: int) -> float:
    """Return the time of the split layer that is slowest as a share of the layer that it stands for; 0 without any."""
    report = small.compression_report
    names = [layer.names[0] for layer in report.layers if layer.rank is not None]
    seen: dict[str, Tensor] = {}
    hooks = [
        whole.get_submodule(name).register_forward_pre_hook(lambda _, given, name=name: seen.update({name: given[0]}))
        for name in names
    ]
    whole(inputs)
    for hook in hooks:
        hook.remove()
    shares = [0.0]
    for name in names:
        layers = [model.get_submodule(name) for model in (whole, small)]
        before, after = milliseconds_of([partial(layer, seen[name]) for layer in layers], repeats)
        shares.append(after / before)
    return max(shares)


if __name__ == "__main__":
    run_benchmark(
        "compressed-time",
        "Networks compressed to 0.75 of their measured time, timed again",
        {"batches": 4, "repeats": 40},
        {
            "NIN, milliseconds=0.75, spatial": contender(NIN, Budget(milliseconds=0.75), "spatial"),
            "NIN, milliseconds=0.75, channel": contender(NIN, Budget(milliseconds=0.75), "channel"),
            "NIN, macs=0.5, spatial": contender(NIN, Budget(macs=0.5), "spatial"),
            "NIN, macs=0.5, channel": contender(NIN, Budget(macs=0.5), "channel"),
            "ResNet-20, milliseconds=0.75, spatial": contender(ResNet, Budget(milliseconds=0.75), "spatial", fold=True),
        },
        small={"batches": 1, "repeats": 2},
        make=image_arrays,
        load=dict,
        costs=COLUMNS,
        packages=(),
    )
